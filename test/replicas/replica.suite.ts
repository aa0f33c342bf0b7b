import { afterEach, beforeEach, expect, it } from 'vitest'
import { FORGET_MS, MOST_SILENCES, type Replica, type ReplicaStore } from '../../src/replicas/presence.ts'

export interface ReplicaStoreUnderTest {
  readonly store: ReplicaStore
  /** Lets the store's clock pass this many milliseconds, as far as it counts how long a process was silent. */
  pass(ms: number): Promise<void>
  /** Of how many processes the store holds anything. */
  held(): Promise<number>
  close(): Promise<void>
}

export function replica(instance: string, more: Partial<Replica> = {}): Replica {
  return {
    instance,
    host: 'host-a',
    pid: 1,
    version: '1.2.3',
    hash: 'abc',
    controlVersion: 7,
    startedAt: 1000,
    ready: true,
    reasons: [],
    configProblems: ['tollgate.yaml:3:1 "quote"\nline'],
    counts: { requests: 1, refused: 2, shadowed: 3, tokens: 4, forwarded: 5, failed: 6, inFlight: 7 },
    hits: { 'GET /v1/*': 3, __proto_: 1 },
    unmatched: ['GET /用户'],
    ...more,
  }
}

/** What every store must do for the processes that share it. */
export function replicaStoreSuite(open: () => Promise<ReplicaStoreUnderTest>): void {
  let under: ReplicaStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  const instances = async (): Promise<string[]> => (await under.store.listReplicas()).map((one) => one.instance)

  it('the processes that share a store are none at first', async () => {
    expect(await under.store.listReplicas()).toEqual([])
  })

  it('the processes that share a store are listed with all they told and how long they were silent, by host and pid', async () => {
    const told = [replica('c', { host: 'host-b', pid: 3 }), replica('b', { pid: 20 }), replica('a', { pid: 3 })]
    for (const one of told) await under.store.beat(one)
    await under.pass(3000)
    const listed = await under.store.listReplicas()
    expect(listed.map(({ silentMs: _, ...rest }) => rest)).toEqual([told[2], told[1], told[0]])
    for (const { silentMs } of listed) {
      expect(silentMs).toBeGreaterThanOrEqual(3000)
      expect(silentMs).toBeLessThan(FORGET_MS)
    }
  })

  it('the processes that share a store are each known by what they told last', async () => {
    await under.store.beat(replica('a', { ready: false, controlVersion: 1 }))
    await under.pass(9000)
    await under.store.beat(replica('a', { controlVersion: 2 }))
    expect(await under.store.listReplicas()).toMatchObject([{ instance: 'a', ready: true, controlVersion: 2 }])
    expect((await under.store.listReplicas())[0]?.silentMs).toBeLessThan(9000)
  })

  it('the processes that share a store are forgotten when they were silent for too long, and no sooner', async () => {
    await under.store.beat(replica('silent'))
    await under.pass(FORGET_MS - 2000)
    await under.store.beat(replica('speaks'))
    expect((await instances()).sort()).toEqual(['silent', 'speaks'])
    await under.pass(2001)
    expect(await instances()).toEqual(['speaks'])
    await under.store.beat(replica('speaks'))
    expect(await instances()).toEqual(['speaks'])
  })

  it('the processes that share a store take no room any more when they were silent for too long and another speaks', async () => {
    for (const instance of ['a', 'b']) await under.store.beat(replica(instance))
    await under.pass(FORGET_MS + 1)
    expect(await under.held()).toBe(2)
    await under.store.beat(replica('c'))
    expect(await under.held()).toBe(1)
  })

  it('the processes that share a store come back when they speak again', async () => {
    for (const instance of ['a', 'b']) await under.store.beat(replica(instance))
    await under.pass(FORGET_MS + 1)
    await under.store.beat(replica('b'))
    expect(await instances()).toEqual(['b'])
    await under.store.beat(replica('a'))
    expect(await instances()).toEqual(['a', 'b'])
  })

  it('the processes that share a store are gone at once when they say that they end', async () => {
    for (const instance of ['a', 'b']) await under.store.beat(replica(instance))
    await under.store.leave('a')
    await under.store.leave('never seen')
    expect(await instances()).toEqual(['b'])
    expect(await under.held()).toBe(1)
  })

  it('the processes that share a store have a silence from their last word on, less what they had not sent, when they end without a word', async () => {
    await under.store.beat(replica('dead', { unsent: { forMs: 1500, lateMs: 500 } }))
    await under.pass(3000)
    expect(await under.store.readSilences()).toEqual([])
    // Six seconds after what was counted first, it is late; the process is forgotten nine seconds after that.
    await under.pass(3001)
    const [late] = await under.store.readSilences()
    const silentMs = (late?.to ?? 0) - (late?.from ?? 0)
    expect(silentMs).toBeGreaterThanOrEqual(6001 + 2000)
    await under.pass(FORGET_MS)
    await under.store.beat(replica('alive'))
    const [noted, ...others] = await under.store.readSilences()
    expect(others).toEqual([])
    expect((noted?.to ?? 0) - (noted?.from ?? 0)).toBeGreaterThanOrEqual(FORGET_MS + 6001 + 2000)
    await under.pass(3000)
    await under.store.beat(replica('alive'))
    expect(await under.store.readSilences()).toEqual([noted])
  })

  it('the processes that share a store have no silence when they leave, or when they speak again', async () => {
    for (const instance of ['a', 'b']) await under.store.beat(replica(instance))
    await under.pass(7000)
    expect(await under.store.readSilences()).toHaveLength(2)
    await under.store.leave('a')
    expect(await under.store.readSilences()).toHaveLength(1)
    await under.pass(FORGET_MS)
    await under.store.beat(replica('c'))
    expect(await under.store.readSilences()).toHaveLength(1)
    await under.store.beat(replica('b'))
    expect(await under.store.readSilences()).toEqual([])
  })

  it('the processes that share a store have a silence while they speak, if they send nothing of what they counted', async () => {
    await under.store.beat(replica('a', { unsent: { forMs: 60_000, lateMs: 0 } }))
    const [silence] = await under.store.readSilences()
    expect((silence?.to ?? 0) - (silence?.from ?? 0)).toBeGreaterThanOrEqual(60_000)
    await under.store.beat(replica('a', { unsent: { forMs: 1000, lateMs: 90_000 } }))
    expect(await under.store.readSilences()).toEqual([])
  })

  it('the processes that share a store that end by the hundred have so many silences and no more, of which the nearest are one', async () => {
    const all = Array.from({ length: MOST_SILENCES + 1 }, (_, pid) => `i-${pid}`)
    await under.store.beat(replica('first', { unsent: { forMs: 3_600_000, lateMs: 0 } }))
    for (const instance of all) await under.store.beat(replica(instance))
    await under.pass(FORGET_MS + 1)
    await under.store.beat(replica('alive'))
    const silences = await under.store.readSilences()
    expect(silences).toHaveLength(MOST_SILENCES)
    const lengths = silences.map(({ from, to }) => to - from).sort((a, b) => b - a)
    expect(lengths[0]).toBeGreaterThanOrEqual(3_600_000 + FORGET_MS)
  })

  it('the processes that share a store may all speak at once', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, pid) => under.store.beat(replica(`i-${pid}`, { pid }))))
    expect(await instances()).toEqual(Array.from({ length: 50 }, (_, pid) => `i-${pid}`))
  })
}
