import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mintToken, type TokenRecord, type TokenStore } from '../../src/control/tokens.ts'

export interface TokenStoreUnderTest {
  readonly store: TokenStore
  close(): Promise<void>
}

/** What every token store must do. */
export function tokenStoreSuite(open: () => Promise<TokenStoreUnderTest>): void {
  let under: TokenStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  const record = (createdAt: number, user = 'alice', expiresAt: number | null = null): TokenRecord =>
    mintToken({ user, name: `made at ${createdAt}`, expiresAt }, createdAt).record

  describe('a gateway token', () => {
    it('is found by its hash, with all that was kept of it', async () => {
      const kept = record(1000, '用户 "x" {y}\n', 2000)
      await under.store.insertToken(kept)
      expect(await under.store.findToken(kept.hash)).toEqual(kept)
    })

    it('that nobody made is not found', async () => {
      await under.store.insertToken(record(1000))
      for (const hash of [record(1000).hash, '', '*', '__proto__']) expect(await under.store.findToken(hash)).toBeNull()
    })

    it('is listed with the others, newest first', async () => {
      const records = [record(3000), record(1000, 'bob'), record(2000)]
      for (const each of records) await under.store.insertToken(each)
      expect((await under.store.listTokens()).map((t) => t.createdAt)).toEqual([3000, 2000, 1000])
    })

    it('made in the same millisecond as another is always listed at the same place', async () => {
      const records = Array.from({ length: 20 }, () => record(1000))
      for (const each of records) await under.store.insertToken(each)
      expect((await under.store.listTokens()).map((t) => t.id)).toEqual(records.map((t) => t.id).sort())
    })

    it('is revoked once: the first time counts', async () => {
      const kept = record(1000)
      await under.store.insertToken(kept)
      expect(await under.store.revokeToken(kept.id, 5000)).toBe(true)
      expect(await under.store.revokeToken(kept.id, 6000)).toBe(true)
      expect(await under.store.findToken(kept.hash)).toEqual({ ...kept, revokedAt: 5000 })
      expect(await under.store.listTokens()).toEqual([{ ...kept, revokedAt: 5000 }])
    })

    it('is revoked without touching the others', async () => {
      const [one, other] = [record(1000), record(2000)]
      for (const each of [one, other]) await under.store.insertToken(each)
      await under.store.revokeToken(one.id, 5000)
      expect(await under.store.findToken(other.hash)).toEqual(other)
    })

    it('that is not known cannot be revoked', async () => {
      const kept = record(1000)
      await under.store.insertToken(kept)
      // Neither by a foreign id nor by its hash.
      for (const id of [record(1).id, kept.hash, '']) expect(await under.store.revokeToken(id, 5000)).toBe(false)
      expect(await under.store.findToken(kept.hash)).toEqual(kept)
    })
  })
}
