import { describe, expect, it } from 'vitest'
import { everyStep } from '../../src/lib/steps.ts'
import { bookWindow } from '../../src/quota/books.ts'
import type { Batch, Limits } from '../../src/quota/charge.ts'
import { NO_RETENTION, type Retention } from '../../src/quota/history.ts'
import type { HistoryScope, HistoryStore } from '../../src/quota/history-store.ts'

export interface KeptUnderTest {
  settle(batch: Batch, at: number): Promise<unknown>
  readonly history: HistoryStore
  /** How long the store keeps runs from now on. */
  keep(retention: Retention): void
  /** Bytes of the history of an owner, and until when its counters are there; 0 for none. */
  stored(scope: HistoryScope, id: string): Promise<{ readonly bytes: number; readonly counterEnds: number }>
  close(): Promise<void>
}

const DAY = 86_400_000
const LIMITS: Limits = {
  personal: [{ window: { name: '1h', seconds: 3600 }, limit: 99 }],
  organisation: null,
  global: null,
  books: bookWindow('UTC'),
}
const days = (longest: number): Retention => ({
  ...NO_RETENTION,
  longestSeconds: longest * 86_400,
  shorterSeconds: 86_400,
  isAnonymous: (user) => user.startsWith('ip:'),
})

/** What every store must do where it is to keep runs for a shorter time, or for a longer one again. */
export function keptSuite(open: (now: number) => Promise<KeptUnderTest>): void {
  async function withStore(body: (under: KeptUnderTest, now: number) => Promise<void>): Promise<void> {
    const now = Date.now()
    const under = await open(now)
    try {
      let sequence = 0
      under.keep(days(35))
      for (const ago of [20, 10, 3, 2]) {
        const charges = ['alice', 'bob'].flatMap((user) =>
          user === 'bob' && ago < 10
            ? []
            : [{ user, organisation: user === 'alice' ? 'acme' : null, category: 'read', cost: ago, limits: LIMITS }],
        )
        await under.settle({ instance: 'i', sequence: ++sequence, refunds: [], charges }, now - ago * DAY)
      }
      await under.history.noteCounted(['3600'])
      await body(under, now)
    } finally {
      await under.close()
    }
  }

  const used = async ({ history }: KeptUnderTest, id: string, scope: HistoryScope = 'personal') => {
    const tokens = new Set<number>()
    const read = await history.readHistory(scope, id)
    read.history.eachRun(0, Number.MAX_SAFE_INTEGER, (_category, _seconds, _startedAt, some) => tokens.add(some))
    const scanned = new Set<number>()
    for await (const { owners } of everyStep((from: string | null) => history.scanHistory(scope, from))) {
      for (const owner of owners) {
        if (owner.id === id) owner.eachRun(0, Number.MAX_SAFE_INTEGER, (_c, _s, _at, some) => scanned.add(some))
      }
    }
    expect(scanned).toEqual(tokens)
    return [...tokens].sort((a, b) => b - a)
  }

  describe('runs that are to be kept for a shorter time', () => {
    it('runs that are to be kept for a shorter time are hidden at once, also of somebody who is charged no more, and taken away by one look through all of them', () =>
      withStore(async (under, now) => {
        expect(await used(under, 'alice')).toEqual([20, 10, 3, 2])
        expect(await used(under, 'bob')).toEqual([20, 10])
        const before = await under.stored('personal', 'alice')
        under.keep(days(5))
        for (const [id, scope] of [
          ['alice', 'personal'],
          ['acme', 'organisation'],
        ] as const) {
          expect(await used(under, id, scope)).toEqual([3, 2])
        }
        expect(await used(under, 'bob')).toEqual([])
        expect(await under.history.noteCounted(['3600'])).toBe(true)
        await under.history.forgetRuns()
        // What was taken away is not there any more when it might be shown again.
        under.keep(days(35))
        expect(await used(under, 'alice')).toEqual([3, 2])
        expect(await used(under, 'acme', 'organisation')).toEqual([3, 2])
        expect(await used(under, 'bob')).toEqual([])
        const after = await under.stored('personal', 'alice')
        expect(after.bytes).toBeLessThan(before.bytes)
        expect(after.counterEnds).toBeLessThanOrEqual(now + 6 * DAY)
        expect((await under.stored('personal', 'bob')).counterEnds).toBeLessThanOrEqual(now)
      }))

    it('runs that are to be kept for a shorter time are all taken away where none are to be kept, but for those that run', () =>
      withStore(async (under, now) => {
        const charges = [{ user: 'alice', organisation: null, category: 'read', cost: 7, limits: LIMITS }]
        await under.settle({ instance: 'i', sequence: 9, refunds: [], charges }, now)
        under.keep(NO_RETENTION)
        expect(await used(under, 'alice')).toEqual([7])
        expect(await under.history.noteCounted(['3600'])).toBe(true)
        await under.history.forgetRuns()
        under.keep(days(35))
        expect(await used(under, 'alice')).toEqual([7])
      }))

    it('runs that are to be kept for a shorter time are looked for until they are gone, and not again', () =>
      withStore(async (under) => {
        expect(await under.history.noteCounted(['3600'])).toBe(false)
        under.keep(days(5))
        for (let i = 0; i < 2; i++) expect(await under.history.noteCounted(['3600'])).toBe(true)
        await under.history.forgetRuns()
        expect(await under.history.noteCounted(['3600'])).toBe(false)
        under.keep(days(35))
        expect(await under.history.noteCounted(['3600'])).toBe(false)
      }))

    it('runs that are to be kept for a shorter time are kept for the shorter time where two gateways differ, and no gateway looks for them each minute', () =>
      withStore(async (under) => {
        const keptDays = async (): Promise<number> =>
          ((await under.history.readCounted()).keeping.get('longest')?.keptSeconds ?? 0) / 86_400
        const note = async (longest: number, isAnew: boolean): Promise<boolean> => {
          under.keep(days(longest))
          return under.history.noteCounted(['3600'], isAnew)
        }
        expect([await note(5, true), await keptDays()]).toEqual([true, 5])
        await under.history.forgetRuns()
        for (let minute = 0; minute < 2; minute++) {
          expect([await note(35, false), await keptDays()]).toEqual([false, 5])
          expect([await note(5, false), await keptDays()]).toEqual([false, 5])
        }
        expect([await note(35, true), await keptDays()]).toEqual([false, 35])
        expect([await note(5, false), await keptDays()]).toEqual([false, 5])
      }))

    it('runs that are to be kept for a shorter time are known for the shorter time only when the time is made longer again', () =>
      withStore(async (under) => {
        under.keep(days(5))
        await under.history.noteCounted(['3600'])
        under.keep(days(35))
        await under.history.noteCounted(['3600'])
        const { at, since, keeping } = await under.history.readCounted()
        expect([...since.keys()]).toEqual(['3600'])
        expect(keeping.get('longest')).toMatchObject({ keptSeconds: 35 * 86_400, leastSeconds: 5 * 86_400 })
        expect(keeping.get('shorter')).toMatchObject({ keptSeconds: 86_400, leastSeconds: 86_400 })
        expect(keeping.get('longest')?.changedAt).toBeLessThanOrEqual(at)
      }))
  })
}
