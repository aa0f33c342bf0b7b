import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  BUCKET_MS,
  BUCKETS,
  bucketStart,
  type FailureStore,
  fullHistory,
  NOTHING,
} from '../../src/failures/histogram.ts'

/** What every failure store must do. */
export interface FailureStoreUnderTest {
  readonly store: FailureStore
  close(): Promise<void>
}

export interface MovableStore extends FailureStoreUnderTest {
  /** Lets the store's clock pass this many milliseconds. */
  pass(ms: number): Promise<void>
}

const one = { ...NOTHING, total: 1 }

export function failureStoreSuite(open: () => Promise<FailureStoreUnderTest>): void {
  let under: FailureStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  it('the failure history of a fresh store is empty', async () => {
    expect((await under.store.readTallies()).buckets).toEqual([])
  })

  it("the failure history adds tallies up in the half hour of the store's clock", async () => {
    await under.store.addTally({ total: 10, status0: 1, status5xx: 2, status4xx: 4, aside: 4, asideFailed: 1 })
    await under.store.addTally({ total: 5, status0: 0, status5xx: 3, status4xx: 1, aside: 3, asideFailed: 2 })
    const { at, buckets } = await under.store.readTallies()
    expect(buckets).toEqual([
      { start: bucketStart(at), total: 15, status0: 1, status5xx: 5, status4xx: 5, aside: 7, asideFailed: 3 },
    ])
  })

  it('the failure history adds what comes late to the half hour in which it was counted', async () => {
    await under.store.addTally(one)
    await under.store.addTally({ ...one, total: 7 }, 3 * BUCKET_MS)
    await under.store.addTally({ ...one, total: 2 }, 3 * BUCKET_MS)
    await under.store.addTally({ ...one, total: 9 }, BUCKETS * BUCKET_MS)
    const { at, buckets } = await under.store.readTallies()
    expect(buckets).toEqual([
      { ...NOTHING, start: bucketStart(at) - 3 * BUCKET_MS, total: 9 },
      { ...NOTHING, start: bucketStart(at), total: 1 },
    ])
  })

  it('the failure history loses none of many tallies that come at once', async () => {
    const tally = { total: 3, status0: 2, status5xx: 1, status4xx: 0, aside: 2, asideFailed: 1 }
    await Promise.all(Array.from({ length: 100 }, () => under.store.addTally(tally)))
    expect((await under.store.readTallies()).buckets).toMatchObject([
      { total: 300, status0: 200, status5xx: 100, status4xx: 0, aside: 200, asideFailed: 100 },
    ])
  })

  it('the failure history counts large numbers exactly', async () => {
    const many = 2 ** 50
    await under.store.addTally({ ...NOTHING, total: many, status0: many - 1, status5xx: 1 })
    await under.store.addTally(one)
    expect((await under.store.readTallies()).buckets).toMatchObject([
      { total: many + 1, status0: many - 1, status5xx: 1 },
    ])
  })

  it('the failure history keeps the bucket of now among those of the last seven days', async () => {
    await under.store.addTally(one)
    const { at, buckets } = await under.store.readTallies()
    expect(fullHistory(buckets, at).at(-1)).toMatchObject({ start: bucketStart(at), ...one })
  })
}

/** For a store whose clock the test can move; the Redis script's is moved in test/store/redis/tally.test.ts. */
export function failureHistorySuite(open: () => Promise<MovableStore>): void {
  it('starts a new bucket each half hour, and forgets after seven days', async () => {
    const under = await open()
    try {
      for (let i = 0; i < BUCKETS; i++) {
        await under.store.addTally({ ...one, total: i + 1 })
        await under.pass(BUCKET_MS)
      }
      const { at, buckets } = await under.store.readTallies()
      // The bucket of now is still empty and takes the place of the oldest.
      expect(buckets).toHaveLength(BUCKETS - 1)
      expect(buckets[0]).toMatchObject({ start: bucketStart(at) - (BUCKETS - 1) * BUCKET_MS, total: 2 })
      expect(buckets.at(-1)).toMatchObject({ start: bucketStart(at) - BUCKET_MS, total: BUCKETS })
      expect(fullHistory(buckets, at).filter((b) => b.total === 0)).toHaveLength(1)
    } finally {
      await under.close()
    }
  })
}
