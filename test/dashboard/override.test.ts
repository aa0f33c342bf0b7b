import { describe, expect, test } from 'vitest'
import { bodyOf, expiryOf, formOf } from '../../src/dashboard/logic/override.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const FORM = { ...formOf(null), reason: 'a big event' }

describe('the body of an override', () => {
  test('has the limits that were filled in, by category', () => {
    const limits = { 'read.1h': '500', 'read.1d': ' ', 'write.1h': '0' }
    expect(bodyOf({ ...FORM, limits, bypassGlobal: true }, NOW).body).toEqual({
      read: { '1h': 500 },
      write: { '1h': 0 },
      bypassGlobal: true,
      shadow: false,
      reason: 'a big event',
      expiresAt: null,
    })
  })

  test('is none without a reason, with a limit that is no number, or with an end that is past', () => {
    const expiry = { kind: 'at', local: '2020-01-01T00:00' } as const
    expect(bodyOf({ ...FORM, limits: { 'read.1h': 'x' }, reason: ' ', expiry }, NOW)).toEqual({
      body: null,
      problems: { 'read.1h': 'problem.limit', reason: 'problem.reason', expiresAt: 'problem.expiry' },
    })
  })

  test('is none where it would set nothing', () => {
    const limits = { 'read.1h': ' ' }
    expect(bodyOf({ ...FORM, limits }, NOW)).toEqual({ body: null, problems: { '': 'problem.nothing' } })
  })

  test('that is read into the form and sent again is the same', () => {
    const set = {
      version: 3,
      limits: { read: { '1h': 5, '1d': 9 } },
      bypassGlobal: false,
      shadow: true,
      reason: 'why',
      expiresAt: '2026-12-01T00:00:00.000Z',
    }
    const { version: _, limits, ...others } = set
    expect(bodyOf(formOf(set), NOW).body).toEqual({ ...limits, ...others })
  })
})

describe('an end', () => {
  test('counts hours from now', () => {
    expect(expiryOf({ kind: 'hours', hours: 24 }, NOW)).toBe('2026-11-21T10:00:00.000Z')
  })
  test('that has come in the meantime is none, also where it was set before', () => {
    expect(expiryOf({ kind: 'keep', at: '2026-11-20T09:59:59Z' }, NOW)).toBeUndefined()
  })
  test('that is not filled in is none', () => {
    expect(expiryOf({ kind: 'at', local: '' }, NOW)).toBeUndefined()
  })
  test('may be never', () => {
    expect(expiryOf({ kind: 'never' }, NOW)).toBeNull()
  })
})
