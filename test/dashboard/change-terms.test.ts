import { describe, expect, test } from 'vitest'
import { NO_TERMS, termsBodyOf } from '../../src/dashboard/logic/change-terms.ts'

const NOW = Date.parse('2026-11-27T10:00:00Z')
const local = (at: number) => {
  const day = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return day.toISOString().slice(0, 16)
}
const HOUR = 3_600_000

describe('the terms of a change', () => {
  test('a change without terms is made at once, stays, and has no reason', () => {
    expect(termsBodyOf(NO_TERMS, NOW)).toEqual({ body: {}, problems: {} })
  })

  test('a guard, a reason, a beginning and an end are those of the API', () => {
    const terms = {
      ...{ reason: ' the fair ', guard: '10m' as const, refused: ' 2.5 ', from: local(NOW + HOUR) },
      until: { kind: 'hours', hours: 24 },
    } as const
    expect(termsBodyOf(terms, NOW)).toEqual({
      body: {
        reason: 'the fair',
        guard: { for: '10m', refused: '2.5%' },
        from: '2026-11-27T11:00:00.000Z',
        until: '2026-11-28T10:00:00.000Z',
      },
      problems: {},
    })
  })

  test.each(['0', '100', '', 'x', '-1', '5%'])('a guard refuses the share %j at its field', (refused) => {
    const { problems } = termsBodyOf({ ...NO_TERMS, guard: '1h', refused }, NOW)
    expect(problems).toEqual({ 'guard.refused': 'problem.refused' })
  })

  test('a share that no guard uses may be anything', () => {
    expect(termsBodyOf({ ...NO_TERMS, refused: 'x' }, NOW).problems).toEqual({})
  })

  test('times that are over, and an end before the beginning, are named by their field', () => {
    const over = { from: local(NOW - HOUR), until: { kind: 'at', local: local(NOW - HOUR) } } as const
    expect(termsBodyOf({ ...NO_TERMS, ...over }, NOW).problems).toEqual({
      from: 'problem.expiry',
      until: 'problem.expiry',
    })
    const before = { from: local(NOW + 2 * HOUR), until: { kind: 'hours', hours: 1 } } as const
    expect(termsBodyOf({ ...NO_TERMS, ...before }, NOW).problems).toEqual({ until: 'problem.untilFrom' })
  })
})
