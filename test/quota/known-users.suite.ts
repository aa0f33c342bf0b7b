import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KnownUserStore } from '../../src/quota/known-users.ts'
import { STRANGE_IDS } from './usage.suite.ts'

export interface KnownUserStoreUnderTest {
  readonly store: KnownUserStore
  /** Lets so many milliseconds pass for the store, or a few more. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const LONG = 3_600_000

/** What every store must do that remembers since when users have charged. */
export function knownUserStoreSuite(open: () => Promise<KnownUserStoreUnderTest>): void {
  let under: KnownUserStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  describe('remembering users', () => {
    it('a store knows nobody who was not noted, and asking notes nobody', async () => {
      expect(await under.store.knownFor('alice')).toBeNull()
      expect(await under.store.knownFor('alice')).toBeNull()
      expect(await under.store.noteUsers([], LONG)).toEqual([])
      expect(await under.store.noteUsers(['alice'], LONG)).toEqual([0])
    })

    it('a store says how long ago a user charged first, however often he was noted since', async () => {
      await under.store.noteUsers(['alice'], LONG)
      await under.pass(40)
      const [again = 0, bob] = await under.store.noteUsers(['alice', 'bob'], LONG)
      expect(again).toBeGreaterThanOrEqual(40)
      expect(bob).toBe(0)
      await under.pass(40)
      expect(await under.store.knownFor('alice')).toBeGreaterThanOrEqual(again + 40)
      const ofBob = (await under.store.knownFor('bob')) ?? Number.NaN
      expect(await under.store.knownFor('alice')).toBeGreaterThanOrEqual(ofBob + 40)
    })

    it('a store forgets a user who was not noted for so long, and not one who was', async () => {
      await under.store.noteUsers(['gone', 'here'], 2000)
      await under.pass(1200)
      await under.store.noteUsers(['here'], 2000)
      await under.pass(1200)
      expect(await under.store.knownFor('gone')).toBeNull()
      expect(await under.store.knownFor('here')).toBeGreaterThanOrEqual(2400)
      expect(await under.store.noteUsers(['gone'], 2000)).toEqual([0])
    })

    it('a store keeps users apart, whatever characters their ids hold', async () => {
      await under.store.noteUsers(STRANGE_IDS.slice(1), LONG)
      await under.pass(20)
      const ages = await under.store.noteUsers(STRANGE_IDS, LONG)
      expect(ages[0]).toBe(0)
      expect(Math.min(...ages.slice(1))).toBeGreaterThanOrEqual(20)
    })

    it('a store responds to many who ask at once, to each with the own user', async () => {
      const users = Array.from({ length: 256 }, (_, i) => `user-${i}`)
      await under.store.noteUsers(users.slice(0, 128), LONG)
      const known = await Promise.all(users.map((user) => under.store.knownFor(user)))
      expect(known.map((age) => age !== null)).toEqual(users.map((_, i) => i < 128))
    })
  })
}
