import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Counter } from '../../../../src/quota/counter.ts'
import { packCounters, readCounter, readCounters } from '../../../../src/store/redis/form/section.ts'

const MOST_TOKENS = 2 ** 40 - 1
const LATEST = 2 ** 47 - 1

describe('the counters of a user', () => {
  /** Where numbers of 4 bytes, of 31 bits and of 5 bytes end. */
  const edges = (most: number) => fc.constantFrom(1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, most)
  const numberTo = (most: number) => fc.oneof(fc.integer({ min: 0, max: most }), edges(most))
  const entry = fc.record({
    seconds: fc.oneof(
      fc.integer({ min: 1, max: 255 }).map((hours) => hours * 3600),
      fc.integer({ min: 1, max: 10 ** 6 }),
    ),
    startedAt: fc.oneof(fc.integer({ min: 1, max: LATEST }), edges(LATEST)),
    used: numberTo(MOST_TOKENS),
  })
  const counter = fc.uniqueArray(entry, { selector: ({ seconds }) => seconds, minLength: 1, maxLength: 20 })
  const category = fc.stringMatching(/^[a-z][a-z0-9_-]{0,31}$/)
  const bySeconds = (of: Counter) => of.toSorted((a, b) => a.seconds - b.seconds)

  it('the counters of a user are read as they were packed, however many windows a category has', () => {
    fc.assert(
      fc.property(fc.dictionary(category, counter, { minKeys: 1, maxKeys: 4 }), (all) => {
        const counters = new Map(Object.entries(all))
        const bytes = packCounters(counters)
        expect([...readCounters(bytes).keys()]).toEqual([...counters.keys()])
        for (const [name, of] of counters) expect(bySeconds(readCounter(bytes, name))).toEqual(bySeconds(of))
      }),
    )
  })

  it.each([255, 256])('the counters of a user are read with a longest window of %i hours', (hours) => {
    const read = [{ seconds: hours * 3600, startedAt: 5, used: 7 }]
    expect(readCounter(packCounters(new Map([['read', read]])), 'read')).toEqual(read)
  })

  it('the counters of a user are read once if a window is there twice', () => {
    const pack = (...of: Counter) => packCounters(new Map([['read', of]]))
    const [hour, day] = [
      { seconds: 3600, startedAt: 5, used: 7 },
      { seconds: 86_400, startedAt: 6, used: 8 },
    ]
    expect(readCounter(Buffer.concat([pack(hour), pack({ ...hour, used: 9 }, day)]), 'read')).toEqual([hour, day])
  })

  const at = 1_700_000_000_000
  it.each<[string, string, Counter]>([
    [
      'whole hours: the lengths in hours, the first start, distances of four bytes and counts of five',
      `43${'72656164'}010518${'018bcfe56800'}${'ff23a280'}${'00000005'}${'0000000007'}${'000000ffff'}${'ffffffffff'}`,
      [
        { seconds: 3600, startedAt: at, used: 7 },
        { seconds: 18_000, startedAt: at - 14_441_856, used: 65_535 },
        { seconds: 86_400, startedAt: at + 5, used: MOST_TOKENS },
      ],
    ],
    [
      'other lengths: the name marked, the lengths in seconds, and distances of six bytes',
      `23${'f2656164'}${'0000000a'}${'00294ec1'}${'018bcfe56800'}${'ffff5ffdc580'}${'0000000007'}${'0000000008'}`,
      [
        { seconds: 10, startedAt: at, used: 7 },
        { seconds: 2_707_137, startedAt: at - 2_684_500_608, used: 8 },
      ],
    ],
  ])('the counters of a user lie in the store with windows of %s', (_, hex, windows) => {
    const bytes = Buffer.from(hex, 'hex')
    expect(packCounters(new Map([['read', windows]])).toString('hex')).toBe(hex)
    expect(readCounters(bytes)).toEqual(new Map([['read', windows]]))
    for (let cut = 1; cut <= bytes.length; cut++) expect(readCounters(bytes.subarray(0, -cut))).toEqual(new Map())
    expect(readCounter(Buffer.concat([bytes, bytes.subarray(0, 9)]), 'read')).toHaveLength(windows.length)
  })

  it.each(['', 'x'.repeat(33), 'lésen'])(
    'the counters of a user are not packed for a category %j, which has no room in a section',
    (name) => {
      expect(() => packCounters(new Map([[name, []]]))).toThrow('a category has 1 to 32 ASCII characters')
      expect(packCounters(new Map([['x'.repeat(32), []]]))).toHaveLength(0)
    },
  )
})
