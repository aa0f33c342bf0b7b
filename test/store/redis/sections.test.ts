import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Counter } from '../../../src/quota/counter.ts'
import { packCounters, read48, readCounter, readCounters } from '../../../src/store/redis/sections.ts'

const most = 2 ** 48 - 1
/** Where numbers of 4 bytes, of 31 bits and of 6 bytes end. */
const edges = fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, most)
const number = fc.oneof(fc.integer({ min: 0, max: most }), edges)

describe('a number of six bytes', () => {
  it('is read as Node reads it', () => {
    fc.assert(
      fc.property(number, fc.nat(3), (value, at) => {
        const bytes = Buffer.alloc(at + 6, 0xff)
        bytes.writeUIntBE(value, at, 6)
        expect(read48(bytes, at)).toBe(value)
      }),
    )
  })
})

describe('the counters of a user', () => {
  const entry = fc.record({
    seconds: fc.oneof(
      fc.integer({ min: 1, max: 255 }).map((hours) => hours * 3600),
      fc.integer({ min: 1, max: 10 ** 6 }),
    ),
    startedAt: fc.integer({ min: 1, max: most }),
    used: number,
  })
  const counter = fc.uniqueArray(entry, { selector: ({ seconds }) => seconds, minLength: 1, maxLength: 20 })
  const category = fc.stringMatching(/^[a-z][a-z0-9_-]{0,31}$/)
  const bySeconds = (of: Counter) => of.toSorted((a, b) => a.seconds - b.seconds)

  it('are read as they were packed, however many windows a category has', () => {
    fc.assert(
      fc.property(fc.dictionary(category, counter, { minKeys: 1, maxKeys: 4 }), (all) => {
        const counters = new Map(Object.entries(all))
        const bytes = packCounters(counters)
        expect([...readCounters(bytes).keys()]).toEqual([...counters.keys()])
        for (const [name, of] of counters) expect(bySeconds(readCounter(bytes, name))).toEqual(bySeconds(of))
      }),
    )
  })

  it.each([255, 256])('are read with a longest window of %i hours', (hours) => {
    const read = [{ seconds: hours * 3600, startedAt: 5, used: 7 }]
    expect(readCounter(packCounters(new Map([['read', read]])), 'read')).toEqual(read)
  })

  it('are read without windows that have not started, and once if they are there twice', () => {
    const pack = (...of: Counter) => packCounters(new Map([['read', of]]))
    const [hour, day] = [
      { seconds: 3600, startedAt: 5, used: 7 },
      { seconds: 86_400, startedAt: 6, used: 8 },
    ]
    const bytes = Buffer.concat([pack(hour, { ...day, startedAt: 0 }), pack({ ...hour, used: 9 }, day)])
    expect(readCounter(bytes, 'read')).toEqual([hour, day])
  })

  it('are read in the short form: the first start, the distances of the others from it, and counts of five bytes', () => {
    const numbers = '018bcfe56800' + 'ff23a280' + '00000005' + '0000000007' + '000000ffff' + 'ffffffffff'
    const bytes = Buffer.from(`43f2e56164010518${numbers}`, 'hex')
    expect(readCounters(bytes)).toEqual(
      new Map([
        [
          'read',
          [
            { seconds: 3600, startedAt: 1_700_000_000_000, used: 7 },
            { seconds: 18_000, startedAt: 1_700_000_000_000 - 14_441_856, used: 65_535 },
            { seconds: 86_400, startedAt: 1_700_000_000_005, used: 2 ** 40 - 1 },
          ],
        ],
      ]),
    )
    for (let cut = 1; cut <= bytes.length; cut++) expect(readCounters(bytes.subarray(0, -cut))).toEqual(new Map())
  })

  it.each(['', 'x'.repeat(33), 'lésen'])('are not packed for a category %j, which has no room in a section', (name) => {
    expect(() => packCounters(new Map([[name, []]]))).toThrow('a category has 1 to 32 ASCII characters')
    expect(packCounters(new Map([['x'.repeat(32), []]]))).toHaveLength(0)
  })

  it('end with the last whole section', () => {
    const bytes = packCounters(new Map([['read', [{ seconds: 3600, startedAt: 5, used: 7 }]]]))
    for (let cut = 1; cut <= bytes.length; cut++) expect(readCounters(bytes.subarray(0, -cut))).toEqual(new Map())
    expect(readCounter(Buffer.concat([bytes, bytes.subarray(0, 9)]), 'read')).toHaveLength(1)
  })
})
