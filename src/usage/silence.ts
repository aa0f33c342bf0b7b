/** What is in no series because a process ended before it sent it. */

/** What a process that ends without a word takes with it. */
export interface Unsent {
  /** For how long counts may have waited in its memory, in milliseconds. */
  readonly forMs: number
  /** How long before it was counted something of it was charged, at most, in milliseconds: a cost may be known late. */
  readonly lateMs: number
}

/**
 * How long what was counted may be on its way to a series, in milliseconds: it is sent every 2 s, and a process that sends nothing for
 * 6 s counts as silent. So the sums of users, which are charged, may be ahead of those of a half hour that has just ended.
 */
export const ON_THE_WAY_MS = 6000

/** A time of which a process may have counted what is in no series. Milliseconds since the epoch, both ends in it. */
export interface Silence {
  readonly from: number
  readonly to: number
}
