import { expect, test } from 'vitest'
import { type Options, optionsOf } from '../../bench/options.ts'

const choices = { groups: ['cost', 'latency', 'users'], profiles: ['accepted'] }
const options = (...args: string[]): Options | null => optionsOf(args, choices)

test('by default everything is measured in five rounds', () => {
  expect(options()).toEqual({
    rounds: 5,
    seconds: 2,
    quick: false,
    write: false,
    awake: false,
    only: null,
    against: null,
    before: 'b3e31377',
    profile: null,
  })
})

test('numbers that are given win over those of --quick', () => {
  expect(options('--quick', '--rounds', '3')).toMatchObject({ rounds: 3, seconds: 1 })
})

test('a group that does not exist is named with those that do', () => {
  expect(() => options('--only', 'costs')).toThrow('--only takes one of cost, latency, users')
})

test.each(['0', '1.5', 'x'])('%s rounds are refused', (rounds) => {
  expect(() => options('--rounds', rounds)).toThrow('whole number from 1')
})

test.each([['--quick'], ['--profile', 'accepted']])(
  'the document has nothing that is not to be quoted: %s',
  (...args) => {
    expect(() => options('--write', ...args)).toThrow('--write is for what may be quoted')
  },
)

test('the document has what a machine does by default', () => {
  expect(() => options('--write', '--awake')).toThrow('--write is without --awake')
})

test('another checkout is measured by itself', () => {
  expect(options('--against', '../before')).toMatchObject({ against: '../before', only: null })
  expect(() => options('--against', '../before', '--only', 'cost')).toThrow('--against is by itself')
})
