import { bookLimit, isBook } from './books.ts'
import type { Decision, Limits, Meter } from './charge.ts'
import type { Grant, Grants, PaidByGrants } from './grant.ts'
import type { Limit, Usage } from './window.ts'

/** The scopes of windows: one user, one organisation, or everybody. Scopes are named in this order everywhere. */
export const SCOPE_NAMES = ['personal', 'organisation', 'global'] as const
export type ScopeName = (typeof SCOPE_NAMES)[number]

/** The id of the global scope. */
export const EVERYBODY = ''

const NO_LIMITS: readonly Limit[] = []

/** By scope, the windows in which a charge counts, including the window of the books. A scope that does not apply has none. */
export type Counted = Readonly<Record<ScopeName, readonly Limit[]>>

const withOrganisation = new WeakMap<Limits, Counted>()
const withoutOrganisation = new WeakMap<Limits, Counted>()

/** Returns the same object for the same limits, because a batch sends each list once. */
export function countedIn({ organisation, limits }: Pick<Meter, 'organisation' | 'limits'>): Counted {
  const known = organisation === null ? withoutOrganisation : withOrganisation
  let counted = known.get(limits)
  if (counted === undefined) {
    const { personal, organisation: theirs, global, books } = limits
    const book = books === undefined ? NO_LIMITS : [bookLimit(books)]
    counted = {
      personal: [...personal, ...book],
      organisation: organisation === null ? NO_LIMITS : [...(theirs ?? NO_LIMITS), ...book],
      global: global ?? NO_LIMITS,
    }
    known.set(limits, counted)
  }
  return counted
}

/** Whether a grant pays instead of the windows of a scope. */
export function hasPayer(paidBy: PaidByGrants | undefined, scope: ScopeName): boolean {
  return paidBy !== undefined && scope !== 'global' && paidBy[scope] !== null
}

/** The grants of a scope, in the order in which they pay. */
export function grantsIn(grants: Grants | undefined, scope: ScopeName): readonly Grant[] {
  return grants === undefined || scope === 'global' ? NO_GRANTS : grants[scope]
}

const NO_GRANTS: readonly Grant[] = []

/** The index of the first window that is charged if a grant pays. That is the window of the books, which is the last one. */
export function firstPaidBeside(limits: readonly Limit[]): number {
  const last = limits.at(-1)
  return last !== undefined && isBook(last.window) ? limits.length - 1 : limits.length
}

/** One scope in which a charge was decided. */
interface ChargedScope {
  readonly scope: ScopeName
  /** The id of the user or the organisation; `EVERYBODY` in the global scope. */
  readonly id: string
  readonly limits: readonly Limit[]
  readonly usages: readonly Usage[]
}

/** The scopes in which an accepted charge was counted, with their windows. A decision of an outage has no usage of the books. */
export function chargedScopes(charge: Meter, { personal, organisation, global }: Decision): ChargedScope[] {
  const { user, organisation: theirs } = charge
  const limits = countedIn(charge)
  const scopes: ChargedScope[] = [{ scope: 'personal', id: user, limits: limits.personal, usages: personal }]
  if (theirs !== null && limits.organisation.length > 0) {
    scopes.push({ scope: 'organisation', id: theirs, limits: limits.organisation, usages: organisation ?? [] })
  }
  if (limits.global.length > 0 && global !== null) {
    scopes.push({ scope: 'global', id: EVERYBODY, limits: limits.global, usages: global })
  }
  return scopes
}
