import { expect, test } from 'vitest'
import { auditEntryOf, organisationOverrideOf, userOverrideOf } from '../../src/control/record-forms.ts'

const ENTRY = { version: 7, at: 1000, who: 'ann', what: 'token_created', subject: 'x', from: null, why: null }

test.each([
  ['itself', (expiresAt: number) => ({ user: 'alice', expiresAt })],
  ['that of the access key which it replaces', (expiresAt: number) => ({ replaces: { id: 'y', expiresAt } })],
  ['that of an override in a sample', (expiresAt: number) => ({ overrides: { alice: { expiresAt } } })],
])('an entry of the audit cannot be read if an end in it is no time that can be shown: %s', (_whose, to) => {
  const good = { ...ENTRY, to: to(1_800_000_000_000) }
  expect(auditEntryOf(good)).toEqual(good)
  expect(auditEntryOf({ ...ENTRY, to: to(1e300) })).toBeNull()
})

test.each([
  ...[1, 'null', [], {}, { limits: null, expiresAt: null }, { limits: { read: 1 }, expiresAt: null }],
  ...[{ limits: {} }, { limits: {}, expiresAt: 'soon' }],
])('an override that somebody else wrote in another form is none: %j', (odd) => {
  expect([userOverrideOf(odd), organisationOverrideOf(odd)]).toEqual([null, null])
})
