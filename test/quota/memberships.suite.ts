import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MembershipStore } from '../../src/quota/memberships.ts'
import { STRANGE_IDS } from './usage.suite.ts'

export interface MembershipStoreUnderTest {
  readonly store: MembershipStore
  /** Lets so many milliseconds pass for the store, or a few more. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const LONG = 3_600_000
const payer = (user: string, plan: string | null, organisation: string | null = null) => ({ user, plan, organisation })

/** What every store must do that remembers what credentials name. */
export function membershipStoreSuite(open: () => Promise<MembershipStoreUnderTest>): void {
  let under: MembershipStoreUnderTest
  beforeEach(async () => {
    under = await open()
  })
  afterEach(() => under.close())

  describe('remembering plans and organisations', () => {
    it('a store has what was noted last, in the order of the question, and nothing of others', async () => {
      await under.store.noteMemberships([payer('alice', 'pro', 'acme'), payer('bob', null, 'acme')], LONG)
      await under.store.noteMemberships([payer('alice', 'free')], LONG)
      await under.store.noteMemberships([], LONG)
      expect(await under.store.readMemberships(['carol', 'bob', 'alice', 'bob'])).toEqual([
        null,
        { plan: null, organisation: 'acme' },
        { plan: 'free', organisation: null },
        { plan: null, organisation: 'acme' },
      ])
      expect(await under.store.readMemberships([])).toEqual([])
    })

    it('a store has the plan that a user of an organisation named last, and forgets it with one who names none', async () => {
      await under.store.noteMemberships([payer('alice', 'pro', 'acme'), payer('bob', 'team', 'acme')], LONG)
      await under.store.noteMemberships([payer('carol', 'pro', 'other'), payer('dave', 'free')], LONG)
      expect(await under.store.readPlans(['other', 'none', 'acme'])).toEqual(['pro', null, 'team'])
      await under.store.noteMemberships([payer('carol', null, 'other')], LONG)
      expect(await under.store.readPlans(['other', 'acme'])).toEqual([null, 'team'])
      expect(await under.store.readPlans([])).toEqual([])
    })

    it('a store forgets a user whose credential names nothing any more', async () => {
      await under.store.noteMemberships([payer('alice', 'pro')], LONG)
      await under.store.noteMemberships([payer('alice', null), payer('bob', null)], LONG)
      expect(await under.store.readMemberships(['alice', 'bob'])).toEqual([null, null])
    })

    it('a store forgets the plan of a user who was not noted for so long, and not of one who was', async () => {
      await under.store.noteMemberships([payer('gone', 'pro', 'away'), payer('here', 'pro')], 1000)
      await under.pass(600)
      await under.store.noteMemberships([payer('here', 'pro')], 1000)
      await under.pass(600)
      expect(await under.store.readMemberships(['gone', 'here'])).toEqual([null, { plan: 'pro', organisation: null }])
      expect(await under.store.readPlans(['away'])).toEqual([null])
    })

    it('a store keeps users apart, whatever characters ids, plans and organisations hold', async () => {
      const each = STRANGE_IDS.map((user, i) => payer(user, `plan ${i}`, STRANGE_IDS.at(-i) ?? null))
      await under.store.noteMemberships(each, LONG)
      expect(await under.store.readMemberships(STRANGE_IDS)).toEqual(each.map(({ user: _, ...facts }) => facts))
      const named = each.filter(({ organisation }) => organisation !== null)
      expect(await under.store.readPlans(named.map(({ organisation }) => organisation ?? ''))).toEqual(
        named.map(({ plan }) => plan),
      )
    })
  })
}
