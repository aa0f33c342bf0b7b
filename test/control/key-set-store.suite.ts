import { expect, it } from 'vitest'
import { KEEP_KEY_SET_MS, type KeySetStore } from '../../src/control/kept-key-sets.ts'
import { closedAtEnd } from '../setup/at-end.ts'

export interface KeySetStoreUnderTest {
  readonly store: KeySetStore
  /** Lets so many milliseconds pass for the key sets of the store. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

/** What every store must do with the key sets of issuers. */
export function keySetStoreSuite(open: () => Promise<KeySetStoreUnderTest>): void {
  it('keeps the last one of each name, and says how long ago it was fetched', async () => {
    const { store, pass } = closedAtEnd(await open())
    expect(await store.readKeySet('a')).toBe(null)
    await store.keepKeySet('a', '{"keys":["old"]}', 0)
    await store.keepKeySet('a', '{"keys":["é"]}', 0)
    await store.keepKeySet('b', '{"keys":[]}', 0)
    await pass(3_600_000)
    const kept = await store.readKeySet('a')
    expect([kept?.text, (await store.readKeySet('b'))?.text]).toEqual(['{"keys":["é"]}', '{"keys":[]}'])
    expect(Math.round((kept?.ageMs ?? 0) / 60_000)).toBe(60)
  })

  it('keeps the one that the issuer sent last, also if a gateway brings an older one after it', async () => {
    const { store, pass } = closedAtEnd(await open())
    await store.keepKeySet('a', '{"keys":["of an hour ago"]}', 3_600_000)
    await store.keepKeySet('a', '{"keys":["new"]}', 60_000)
    await store.keepKeySet('a', '{"keys":["of two minutes ago"]}', 120_000)
    const kept = await store.readKeySet('a')
    expect(kept?.text).toBe('{"keys":["new"]}')
    expect(Math.round((kept?.ageMs ?? 0) / 1000)).toBe(60)
    await pass(600_000)
    await store.keepKeySet('a', '{"keys":["newer"]}', 300_000)
    expect((await store.readKeySet('a'))?.text).toBe('{"keys":["newer"]}')
  })

  it('replaces one that ends later than possible, which was kept while the clock was ahead', async () => {
    const { store } = closedAtEnd(await open())
    await store.keepKeySet('a', '{"keys":["of the future"]}', -3_600_000)
    await store.keepKeySet('a', '{"keys":["new"]}', 0)
    expect((await store.readKeySet('a'))?.text).toBe('{"keys":["new"]}')
  })

  it('forgets one a day after the issuer sent it', async () => {
    const { store, pass } = closedAtEnd(await open())
    await store.keepKeySet('a', '{"keys":[]}', 0)
    await store.keepKeySet('b', '{"keys":[]}', 3_600_000)
    await pass(KEEP_KEY_SET_MS - 3_600_000)
    expect((await store.readKeySet('a'))?.text).toBe('{"keys":[]}')
    expect(await store.readKeySet('b')).toBe(null)
    await pass(3_600_000)
    expect(await store.readKeySet('a')).toBe(null)
  })
}
