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
const payer = (user: string, plan: string | null, organisation: string | null = null, periodDay?: number) => ({
  ...{ user, plan, organisation },
  ...(periodDay !== undefined && { periodDay }),
})
const named = (plan: string) => ({ plan })

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
      expect(await under.store.readNamed(['other', 'none', 'acme'])).toEqual([named('pro'), null, named('team')])
      await under.store.noteMemberships([payer('carol', null, 'other')], LONG)
      expect(await under.store.readNamed(['other', 'acme'])).toEqual([null, named('team')])
      expect(await under.store.readNamed([])).toEqual([])
    })

    it('a store has the day with which months begin that a user, and a user of an organisation, named last, also without a plan', async () => {
      await under.store.noteMemberships(
        [payer('alice', null, 'acme', 17), payer('bob', 'pro', 'other', 31), payer('carol', null, null, 1)],
        LONG,
      )
      expect(await under.store.readMemberships(['carol', 'bob', 'alice'])).toEqual([
        { plan: null, organisation: null, periodDay: 1 },
        { plan: 'pro', organisation: 'other', periodDay: 31 },
        { plan: null, organisation: 'acme', periodDay: 17 },
      ])
      expect(await under.store.readNamed(['acme', 'other'])).toEqual([
        { plan: null, periodDay: 17 },
        { plan: 'pro', periodDay: 31 },
      ])
      await under.store.noteMemberships(
        [payer('alice', null, 'acme'), payer('bob', 'pro', 'other'), payer('carol', null)],
        LONG,
      )
      expect(await under.store.readMemberships(['carol', 'bob', 'alice'])).toEqual([
        null,
        { plan: 'pro', organisation: 'other' },
        { plan: null, organisation: 'acme' },
      ])
      expect(await under.store.readNamed(['acme', 'other'])).toEqual([null, { plan: 'pro' }])
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
      expect(await under.store.readNamed(['away'])).toEqual([null])
    })

    it('a store keeps users apart, whatever characters ids, plans and organisations hold', async () => {
      const each = STRANGE_IDS.map((user, i) => payer(user, `plan ${i}`, STRANGE_IDS.at(-i) ?? null))
      await under.store.noteMemberships(each, LONG)
      expect(await under.store.readMemberships(STRANGE_IDS)).toEqual(each.map(({ user: _, ...facts }) => facts))
      const ofOrganisations = each.filter(({ organisation }) => organisation !== null)
      expect(await under.store.readNamed(ofOrganisations.map(({ organisation }) => organisation ?? ''))).toEqual(
        ofOrganisations.map(({ plan }) => ({ plan })),
      )
    })
  })
}
