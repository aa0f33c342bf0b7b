import { factsOf, type MembershipStore, namedByOrganisation, namesNothing } from '../../quota/memberships.ts'
import { membershipOf, namedOf } from '../record-forms.ts'
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

export function namedRecords(redis: RedisClient, keys: Keys, lists: Records) {
  return lists.list({
    kind: 'membership',
    list: keys.named(''),
    parse: (text: string) => namedOf(JSON.parse(text)),
    look: (organisation) => lookedUp(() => redis.get(keys.named(organisation))),
  })
}

/** One key for each user and each organisation, which expires by itself. */
export function redisMemberships(redis: RedisClient, keys: Keys, lists: Records): MembershipStore {
  const [members, named] = [membershipRecords(redis, keys, lists), namedRecords(redis, keys, lists)]

  return {
    async noteMemberships(payers, rememberMs) {
      if (payers.length === 0) return
      await transaction(redis, (multi) => {
        for (const payer of payers) {
          const key = keys.membership(payer.user)
          if (namesNothing(payer)) multi.del(key)
          else multi.set(key, JSON.stringify(factsOf(payer)), 'PX', rememberMs)
        }
        for (const [organisation, last] of namedByOrganisation(payers)) {
          if (last === null) multi.del(keys.named(organisation))
          else multi.set(keys.named(organisation), JSON.stringify(last), 'PX', rememberMs)
        }
      })
    },
    async readMemberships(users) {
      if (users.length === 0) return []
      const values = await call(() => redis.mget(users.map(keys.membership)))
      return values.map((text, i) => (text === null ? null : members.read(users[i] ?? '', text)))
    },
    async readNamed(organisations) {
      if (organisations.length === 0) return []
      const values = await call(() => redis.mget(organisations.map(keys.named)))
      return values.map((text, i) => (text === null ? null : named.read(organisations[i] ?? '', text)))
    },
  }
}
