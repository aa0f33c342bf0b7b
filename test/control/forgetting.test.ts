import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AuditEntry } from '../../src/control/control-store.ts'
import { entryWithout, forgettingOf, isAlias, names, valueWithout } from '../../src/control/forgetting.ts'
import { runs } from '../setup/runs.ts'

const alias = 'forgotten-0123456789ab'
const user = fc.oneof(
  fc.string({ minLength: 4, maxLength: 20 }),
  fc.string({ minLength: 4, maxLength: 12, unit: fc.constantFrom(...'a-+.*?^$|()[]{}\\/ 用😀') }),
)
const entryOf = (more: Partial<AuditEntry>): AuditEntry => ({
  ...{ version: 1, at: 1, who: 'ann', what: 'override', subject: null, from: null, to: null, why: null },
  ...more,
})

it('the name of a user, of any characters goes from a reason where it stands as a word, and the rest stays', () => {
  fc.assert(
    fc.property(user, (name) => {
      const { why } = entryWithout(entryOf({ why: `(${name}) asked` }), { user: name, alias })
      expect(why).toBe(`(${alias}) asked`)
    }),
    { numRuns: runs(400) },
  )
}, 60_000)

it('the name of a user, of any characters goes from an entry about the user with all that was written about the user', () => {
  fc.assert(
    fc.property(user, (name) => {
      const override = { limits: { read: { '1h': 1 } }, reason: 'the boss of Bob' }
      const entry = entryOf({ subject: name, to: override, why: 'Bob wants it' })
      expect(names(entry, name)).toBe(true)
      const without = { subject: alias, to: { ...override, reason: alias }, why: alias }
      expect(entryWithout(entry, { user: name, alias })).toEqual({ ...entry, ...without })
    }),
    { numRuns: runs(400) },
  )
}, 60_000)

it('the name of a user, of any characters stays as that of an organisation, of a category and of a plan', () => {
  fc.assert(
    fc.property(user, (name) => {
      const entry = entryOf({
        what: 'organisation_override',
        subject: name,
        to: { limits: { [name]: {} }, plan: name },
      })
      expect(entryWithout(entry, { user: name, alias })).toEqual(entry)
      expect(names(entry, name)).toBe(false)
    }),
    { numRuns: runs(400) },
  )
}, 60_000)

it('a value without the name is as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(valueWithout(value, { user: 'nobody of this name', alias })).toEqual(value)
    }),
    { numRuns: runs(400) },
  )
}, 60_000)

it('an alias is made by chance, and told from any name', () => {
  const [one, other] = [forgettingOf('alice'), forgettingOf('alice')]
  expect(one.alias).not.toBe(other.alias)
  expect([one.alias, 'forgotten-alice', 'alice', null].map(isAlias)).toEqual([true, false, false, false])
})
