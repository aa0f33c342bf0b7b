import { expect, test } from 'vitest'
import { tableHref } from '../../src/dashboard/logic/list-csv.ts'

const fileOf = (href: string): string => decodeURIComponent(href.slice(href.indexOf(',') + 1))

test('a file of the rows has a head and no formula, and all of it whatever the names are', () => {
  const rows = [
    ['bob', 'gold', 8],
    ['=cmd|"x"!A1', '', 0],
    ['用户#1', '', 1],
  ]
  expect(fileOf(tableHref(['user', 'plan', 'tokens'], rows))).toBe(
    'user,plan,tokens\r\nbob,gold,8\r\n"\'=cmd|""x""!A1",,0\r\n用户#1,,1\r\n',
  )
  expect(fileOf(tableHref(['organisation'], []))).toBe('organisation\r\n')
})
