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
  /** On the store's clock, in milliseconds since the epoch: from then on it pays nothing. */
  readonly until: number
}

/** By scope the grants that pay in one category, in the order in which they are taken from: the one that ends first comes first. */
export interface Grants {
  readonly personal: readonly Grant[]
  readonly organisation: readonly Grant[]
}

/** What a grant pays for one charge. */
export interface PaidByGrant {
  readonly grant: Grant
  /** When the grant was first taken from, on the store's clock. */
  readonly startedAt: number
  /** Tokens that were taken from it so far; of an accepted charge with its own. */
  readonly used: number
}

/** Of an accepted charge which grant has paid, by scope; of a refused one, which would have paid. */
export interface PaidByGrants {
  readonly personal: PaidByGrant | null
  readonly organisation: PaidByGrant | null
}

/** No category of a configuration begins with it. */
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

/** So long after its end the run of a grant lasts, so that a clock that is set back does not begin another one. In seconds. */
const SLACK = 86_400

/**
 * @param id letters and digits of ASCII, at most 16
 * @param givenAt, until of the store's clock, in milliseconds since the epoch
 * @param tokens at least 1
 */
export function grantOf(id: string, givenAt: number, until: number, tokens: number): Grant {
  const seconds = Math.ceil((until - givenAt) / 1000) + SLACK
  return { id, window: { name: id, seconds }, limit: tokens, until }
}

/** Whether a grant of which so much was taken pays a cost at a moment. */
export function pays({ until, limit }: Grant, used: number, cost: number, at: number): boolean {
  return at < until && used + cost <= limit
}
