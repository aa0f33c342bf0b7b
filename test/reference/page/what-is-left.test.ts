import { expect, test } from 'vitest'
import { tightest } from '../../../src/reference/page/what-is-left.ts'

test('what a response says is left is the window with the smallest share, also if Swagger UI took the fields apart', () => {
  const remaining = '"personal-read-1h";r=60;t=12, "personal-read-1d";r=100, "global-read-1h";r=9000;t=5'
  const policy = '"personal-read-1h";q=120;w=3600, "personal-read-1d";q=1200;w=86400, "global-read-1h";q=9000;w=3600'
  const least = { name: 'personal-read-1d', remaining: 100, limit: 1200 }
  expect(tightest(remaining, policy)).toEqual(least)
  expect(tightest(remaining.split(', '), policy.split(', '))).toEqual(least)
})

test('what a response says is left is a window whose limit is nothing before all others', () => {
  expect(tightest('"a";r=0, "b";r=1', '"a";q=0;w=1, "b";q=100;w=1')?.name).toBe('a')
})

test('what a response says is left is unknown without the fields, or without the limit of a window', () => {
  expect(tightest(undefined, undefined)).toBeNull()
  expect(tightest('"a";r=1', undefined)).toBeNull()
})
