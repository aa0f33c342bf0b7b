import type { Limit } from './window.ts'

/**
 * Extra tokens that an administrator gives once, to a user or to all users of an organisation together. Where a window of that scope has
 * no room for a request, a grant pays the whole cost of the request instead of the windows.
 *
 * For the stores a grant is one run of one window. It lies under the key of its owner, beside the categories, in a category of its own
 * that no configuration can name. So it is charged, given back, kept and forgotten as every other window is.
 */
export interface Grant extends Limit {
  readonly id: string
  /** From this moment on the grant pays nothing, in milliseconds since the epoch on the store's clock. */
  readonly until: number
}

/** The grants that pay in one category, by scope. The grant that ends first is used first. */
export interface Grants {
  readonly personal: readonly Grant[]
  readonly organisation: readonly Grant[]
}

/** What a grant pays for one charge. */
export interface PaidByGrant {
  readonly grant: Grant
  /** When the grant was first taken from, on the store's clock. */
  readonly startedAt: number
  /** Tokens taken from the grant so far. If the charge is accepted, its own tokens are included. */
  readonly used: number
}

/** For an accepted charge, the grant that has paid in each scope. For a refused charge, the grant that would have paid. */
export interface PaidByGrants {
  readonly personal: PaidByGrant | null
  readonly organisation: PaidByGrant | null
}

/** No category of a configuration begins with this character. */
const MARK = '+'

/** The category in which a grant is counted. */
export function accountOf(id: string): string {
  return MARK + id
}

export function isAccount(category: string): boolean {
  return category.startsWith(MARK)
}

/** The id of the grant that is counted in a category; `null` for a category of requests. */
export function grantCountedIn(category: string): string | null {
  return isAccount(category) ? category.slice(MARK.length) : null
}

/** In seconds. A grant's run lasts this much longer than the grant, so that a clock that is set back starts no other run. */
const SLACK = 86_400

/**
 * @param id ASCII letters and digits, at most 16
 * @param givenAt, until milliseconds since the epoch on the store's clock
 * @param tokens at least 1
 */
export function grantOf(id: string, givenAt: number, until: number, tokens: number): Grant {
  const seconds = Math.ceil((until - givenAt) / 1000) + SLACK
  return { id, window: { name: id, seconds }, limit: tokens, until }
}

/** Whether a grant pays a cost at a moment. @param used tokens that were taken from it so far */
export function pays({ until, limit }: Grant, used: number, cost: number, at: number): boolean {
  return at < until && used + cost <= limit
}
