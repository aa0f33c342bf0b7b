import { expect, test } from 'vitest'
import { goalsOf, type JumpSources, typedOf } from '../../src/dashboard/logic/jump.ts'

const SOURCES: JumpSources = {
  pages: [
    ['overview', 'Overview'],
    ['users', 'Users'],
    ['refusals', 'Refusals'],
  ],
  users: ['bob', 'bobby'],
  areUsersRead: true,
  organisations: ['bob & sons'],
  looks: [
    ['dark', 'Dark colours'],
    ['zh', 'Language: Chinese'],
  ],
  routes: ['GET /a/bob', 'GET /b', 'GET /c/bob', ...Array.from({ length: 9 }, (_, i) => `GET /many/${i}`)],
}
const WORDS = { half: ['raise', '提高'], double: ['double'], block: ['block', '封禁'], refusals: ['refusals'] }
const goals = (typed: string, sources = SOURCES) => goalsOf(typedOf(typed, WORDS), sources)
const namesOf = (typed: string, sources = SOURCES) => goals(typed, sources).map(({ kind, name }) => `${kind} ${name}`)

test('before anything is typed every page is offered', () => {
  expect(namesOf(' ')).toEqual(['page Overview', 'page Users', 'page Refusals'])
})

test('names that begin with what was typed come before those that only have it', () => {
  expect(namesOf('us').slice(0, 2)).toEqual(['page Users', 'page Refusals'])
})

test('users, organisations and routes follow the pages, each with its address', () => {
  expect(goals('bob').map(({ href }) => href)).toEqual([
    '#/users/bob',
    '#/users/bobby',
    '#/organisations/bob%20%26%20sons',
    '#/routes?route=GET+%2Fa%2Fbob',
    '#/routes?route=GET+%2Fc%2Fbob',
  ])
})

test('a user of that very id is the last that is offered, if it begins the name of no user who is known', () => {
  const nobody = { ...SOURCES, users: [], organisations: [] }
  expect(goals('new one', nobody)).toEqual([{ kind: 'userById', name: 'new one', href: '#/users/new%20one' }])
  expect(namesOf('bo').filter((name) => name.startsWith('userById'))).toEqual([])
  expect(namesOf('ob').at(-1)).toBe('userById ob')
  expect(namesOf('new one', { ...nobody, areUsersRead: false })).toEqual([])
})

test('who was found for a shorter text is not offered for a longer one, so that Enter goes to nobody else', () => {
  expect(namesOf('bobb')).toEqual(['user bobby'])
  expect(goals('block bobby').map(({ href }) => href)).toEqual(['#/users/bobby?do=block'])
})

test('the first five of many routes are offered', () => {
  expect(namesOf('many').filter((name) => name.startsWith('route'))).toHaveLength(5)
})

test('a verb before a name is done with whoever the name begins, and a user whom nobody knows is taken by the very id', () => {
  const deeds = (typed: string, sources = SOURCES) => goals(typed, sources).map(({ verb, href }) => [verb, href])
  const nobody = { ...SOURCES, users: [], organisations: [] }
  expect(deeds('Raise bob')).toEqual([
    ['half', '#/users/bob?do=half'],
    ['half', '#/users/bobby?do=half'],
    ['half', '#/organisations/bob%20%26%20sons?do=half'],
  ])
  expect(deeds('open refusals of bob').slice(0, 1)).toEqual([['refusals', '#/refusals?user=bob']])
  expect(deeds('封禁mallory', nobody)).toEqual([['block', '#/users/mallory?do=block']])
  // Names may begin as verbs do.
  expect(namesOf('blocky', nobody)).toEqual(['userById blocky'])
  expect(namesOf('refus')).toContain('page Refusals')
})

test('a user and an organisation with one name are told apart, also behind a verb', () => {
  const twice = { ...SOURCES, users: ['acme'], organisations: ['acme'] }
  for (const typed of ['acme', 'block acme', 'refusals acme'])
    expect(namesOf(typed, twice)).toEqual(['user acme', 'organisation acme'])
  expect(goals('refusals acme', twice).map(({ href }) => href)).toEqual([
    '#/refusals?user=acme',
    '#/refusals?organisation=acme',
  ])
})

test('a language and a colour scheme are found by their names', () => {
  expect(goals('dark')).toContainEqual({ kind: 'look', name: 'Dark colours', href: '', look: 'dark' })
})
