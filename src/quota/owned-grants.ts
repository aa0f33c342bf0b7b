import { madeOnce } from '../lib/memo.ts'
import type { Limits } from './charge.ts'
import type { Grant } from './grant.ts'
import type { Payer } from './payer.ts'

/** By owner, then by category. The grant that ends first comes first. */
type ByOwner = ReadonlyMap<string, ReadonlyMap<string, readonly Grant[]>>

/** A grant with its owner and category. */
export interface OwnedGrant {
  readonly scope: 'personal' | 'organisation'
  readonly category: string
  readonly grant: Grant
}

/** All grants that pay now. */
export interface GrantsInForce {
  readonly users: ByOwner
  readonly organisations: ByOwner
}

const NONE: readonly Grant[] = []

/** The grants of a caller, those of the user first. @param categories of the configuration; grants of others are left out */
export function grantsOwnedBy(
  { users, organisations }: GrantsInForce,
  { user, organisation }: Payer,
  categories: readonly string[],
): OwnedGrant[] {
  const of = (scope: OwnedGrant['scope'], byCategory: ReadonlyMap<string, readonly Grant[]> | undefined) =>
    categories.flatMap((category) =>
      (byCategory?.get(category) ?? NONE).map((grant): OwnedGrant => ({ scope, category, grant })),
    )
  const theirs = organisation === null ? undefined : organisations.get(organisation)
  return [...of('personal', users.get(user)), ...of('organisation', theirs)]
}

/** Whether an administrator lets nothing pass in a category. */
type IsBlocked = (scope: OwnedGrant['scope'], category: string, payer: Payer) => boolean

/**
 * Adds the grants of one caller to limits.
 * @param isBlocked says where nothing may pass, so that no grant pays there
 * @returns a function that returns `limits` itself if the caller has no grants in the category, and otherwise always the same new object for
 * the same limits and owners
 */
export function grantedLimits(
  grants: GrantsInForce,
  isBlocked: IsBlocked,
): (limits: Limits, category: string, payer: Payer) => Limits {
  /** Keyed by the owners of the grants. */
  const known = madeOnce<Limits, string>()

  return (limits, category, payer) => {
    const { user, organisation } = payer
    const of = (scope: OwnedGrant['scope'], found: readonly Grant[] | undefined) =>
      found === undefined || isBlocked(scope, category, payer) ? NONE : found
    const own = of('personal', grants.users.get(user)?.get(category))
    const theirs =
      organisation === null || limits.organisation === null
        ? NONE
        : of('organisation', grants.organisations.get(organisation)?.get(category))
    if (own.length === 0 && theirs.length === 0) return limits
    const owners = JSON.stringify([own.length === 0 ? null : user, theirs.length === 0 ? null : organisation])
    return known(limits, owners, () => ({ ...limits, grants: { personal: own, organisation: theirs } }))
  }
}
