import { type MembershipStore, plansByOrganisation } from '../../quota/memberships.ts'
import { membershipOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { call, lookedUp, transaction } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

export function membershipRecords(redis: RedisClient, keys: Keys, lists: Records) {
  return lists.list({
    kind: 'membership',
    list: keys.membership(''),
    parse: (text: string) => membershipOf(JSON.parse(text)),
    look: (user) => lookedUp(() => redis.get(keys.membership(user))),
  })
}

/** A key for each user and each organisation, which ends by itself. */
export function redisMemberships(redis: RedisClient, keys: Keys, lists: Records): MembershipStore {
  const records = membershipRecords(redis, keys, lists)

  return {
    async noteMemberships(payers, rememberMs) {
      if (payers.length === 0) return
      await transaction(redis, (multi) => {
        for (const { user, plan, organisation } of payers) {
          const key = keys.membership(user)
          if (plan === null && organisation === null) multi.del(key)
          else multi.set(key, JSON.stringify({ plan, organisation }), 'PX', rememberMs)
        }
        for (const [organisation, plan] of plansByOrganisation(payers)) {
          if (plan === null) multi.del(keys.planOf(organisation))
          else multi.set(keys.planOf(organisation), plan, 'PX', rememberMs)
        }
      })
    },
    async readMemberships(users) {
      if (users.length === 0) return []
      const values = await call(() => redis.mget(users.map(keys.membership)))
      return values.map((text, i) => (text === null ? null : records.read(users[i] ?? '', text)))
    },
    async readPlans(organisations) {
      return organisations.length === 0 ? [] : call(() => redis.mget(organisations.map(keys.planOf)))
    },
  }
}
