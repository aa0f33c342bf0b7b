import { onceForEach } from '../lib/memo.ts'
import { type Grant, grantOf } from '../quota/grant.ts'
import type { GrantsInForce } from '../quota/owned-grants.ts'
import type { GivenGrant, Versioned } from './state.ts'

/** Whether a grant pays at a moment of the store's clock, provided that tokens are left. */
export function isLive({ until, endedAt }: GivenGrant, at: number): boolean {
  return endedAt === null && at < until
}

/** Whether two grants have the same owner. */
export function isOfSameOwner(a: GivenGrant, b: GivenGrant): boolean {
  return a.user === b.user && a.organisation === b.organisation
}

/** When a grant ended or will end, in milliseconds since the epoch. */
export function endOfGrant({ until, endedAt }: GivenGrant): number {
  return endedAt ?? until
}

/** A function that gives the data of a grant for usage, by its id; `undefined` if there are no grants. */
export function grantOfThese(grants: ReadonlyMap<string, Versioned<GivenGrant>>) {
  if (grants.size === 0) return undefined
  return (id: string) => {
    const grant = grants.get(id)?.value
    if (grant === undefined) return null
    const { category, tokens, givenAt } = grant
    return { category, tokens, from: givenAt, until: endOfGrant(grant) }
  }
}

/** The grants of a state by their owners; `undefined` if there are none. @param live grants that pay now, by id */
export function grantsInForce(live: ReadonlyMap<string, Versioned<GivenGrant>>): GrantsInForce | undefined {
  return live.size === 0 ? undefined : grantsByOwner(live)
}

/** The result is made once for each map, because administrators look through all users in steps, and each step needs it. */
const grantsByOwner = onceForEach((live: ReadonlyMap<string, Versioned<GivenGrant>>): GrantsInForce => {
  const users = new Map<string, Map<string, Grant[]>>()
  const organisations = new Map<string, Map<string, Grant[]>>()
  for (const [id, { value }] of live) {
    const { user, organisation, category, givenAt, until, tokens } = value
    const [all, owner] = user === undefined ? [organisations, organisation ?? ''] : [users, user]
    const byCategory = all.get(owner) ?? new Map<string, Grant[]>()
    const grants = byCategory.get(category) ?? []
    grants.push(grantOf(id, givenAt, until, tokens))
    all.set(owner, byCategory.set(category, grants))
  }
  for (const all of [users, organisations]) {
    for (const byCategory of all.values()) for (const grants of byCategory.values()) grants.sort(firstToEnd)
  }
  return { users, organisations }
})

function firstToEnd(a: Grant, b: Grant): number {
  return a.until - b.until || (a.id < b.id ? -1 : 1)
}
