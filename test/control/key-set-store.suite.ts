import { afterEach, beforeEach, expect, it } from 'vitest'
import { KEEP_KEY_SET_MS, type KeySetStore } from '../../src/control/kept-key-sets.ts'

export interface KeySetStoreUnderTest {
  readonly store: KeySetStore
  /** Lets so many milliseconds pass for the key sets of the store. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

/** What every store must do with the key sets of issuers. */
export function keySetStoreSuite(open: () => Promise<KeySetStoreUnderTest>): void {
  let under: KeySetStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  it('keeps the last one of each name, and says how long ago it was fetched', async () => {
    const { store } = under
    expect(await store.readKeySet('a')).toBe(null)
    await store.keepKeySet('a', '{"keys":["old"]}')
    await store.keepKeySet('a', '{"keys":["é"]}')
    await store.keepKeySet('b', '{"keys":[]}')
    await under.pass(3_600_000)
    const kept = await store.readKeySet('a')
    expect([kept?.text, (await store.readKeySet('b'))?.text]).toEqual(['{"keys":["é"]}', '{"keys":[]}'])
    expect(Math.round((kept?.ageMs ?? 0) / 60_000)).toBe(60)
  })

  it('forgets one that nobody has fetched again for a day', async () => {
    const { store } = under
    await store.keepKeySet('a', '{"keys":[]}')
    await under.pass(KEEP_KEY_SET_MS)
    expect(await store.readKeySet('a')).toBe(null)
  })
}
