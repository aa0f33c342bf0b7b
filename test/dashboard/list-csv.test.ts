import { expect, test } from 'vitest'
import { csvHref, csvOf } from '../../src/dashboard/logic/list-csv.ts'

const LINES = [
  { id: 'bob', plan: 'gold', override: {}, blocked: true, tokens: 8 },
  { id: '=cmd|"x"!A1', override: null, blocked: false, tokens: 0 },
]

test('a file of the rows has a head and no formula', () => {
  expect(csvOf('users', LINES)).toBe(
    'user,plan,override,blocked,tokens\r\nbob,gold,true,true,8\r\n"\'=cmd|""x""!A1",,false,false,0\r\n',
  )
  expect(csvOf('organisations', [])).toBe('organisation,plan,override,blocked,tokens\r\n')
})

test('the link of the file has all of it, whatever the names are', () => {
  const href = csvHref('users', [{ id: '用户#1', override: null, blocked: false, tokens: 1 }])
  expect(decodeURIComponent(href.slice(href.indexOf(',') + 1))).toContain('用户#1,,false,false,1')
})
