import type { Books } from '../../src/admin/preview.ts'
import { memberOf, payerOf } from '../../src/quota/policy.ts'

/** A desk that knows of users and organisations nothing but the id. */
export function deskOf(store: Books['store'], membersOf?: Books['membersOf']): Books {
  return {
    store,
    payersOf: async (users) => users.map(payerOf),
    membersOf: membersOf ?? (async (organisations) => organisations.map((organisation) => memberOf(organisation))),
    learn: async () => {},
  }
}
