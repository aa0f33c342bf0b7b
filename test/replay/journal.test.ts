import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/replay/entry.ts'
import { JournalBuilder } from '../../src/replay/journal.ts'

const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 4 }))
const tokens = fc.option(fc.nat(1e9))
const entry: fc.Arbitrary<Entry> = fc
  .record({
    at: fc.nat(40),
    lasts: fc.nat(6),
    method: fc.constantFrom('GET', 'POST'),
    target: fc.record({ kind: fc.constantFrom('rule' as const, 'path' as const), text: fc.string({ maxLength: 3 }) }),
    user: text,
    address: text,
    plan: text,
    organisation: text,
    cost: tokens,
    charged: tokens,
    days: fc.constantFrom(
      ...[undefined, { periodDay: 31 }, { periodDay: 1, organisationDay: 31 }],
      ...[{ periodDay: 17, organisationDay: null }, { organisationDay: 28 }],
    ),
    fate: fc.constantFrom(
      'passed',
      'unreached',
      'repeated',
      'asked_again',
      'exempt',
      'refused',
      'shadowed',
      'undecided',
    ),
  })
  .map(({ lasts, days, ...rest }) => ({ ...rest, ...(days && { days }), endedAt: rest.at + lasts }))

test('requests come back as they were, by their starts, and each ends behind its start and before what came later', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
      const builder = new JournalBuilder()
      for (const each of entries) builder.add(each)
      const seen: { readonly what: 'start' | 'end'; readonly position: number }[] = []
      const journal = builder.finish()
      journal.forEach(
        (each, position) => {
          expect(each).toEqual(entries[position])
          seen.push({ what: 'start', position })
        },
        (position) => seen.push({ what: 'end', position }),
      )
      const starts = seen.filter(({ what }) => what === 'start').map(({ position }) => position)
      const byStart = entries.map((_, i) => i).sort((a, b) => (entries[a]?.at ?? 0) - (entries[b]?.at ?? 0) || a - b)
      expect(starts).toEqual(byStart)
      expect(journal.size).toBe(entries.length)
      const place = (what: string, position: number) =>
        seen.findIndex((s) => s.what === what && s.position === position)
      for (let i = 0; i < entries.length; i++) {
        expect(place('end', i)).toBeGreaterThan(place('start', i))
        for (let j = 0; j < entries.length; j++) {
          if ((entries[i]?.endedAt ?? 0) < (entries[j]?.at ?? 0))
            expect(place('end', i)).toBeLessThan(place('start', j))
        }
      }
    }),
    { numRuns: 200 },
  )
})
