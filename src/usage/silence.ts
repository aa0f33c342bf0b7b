/** What is in no series because a process ended before it sent it. */

/** What a process that ends without a word takes with it. */
export interface Unsent {
  /** For how long counts may have waited in its memory, in milliseconds. */
  readonly forMs: number
  /** How long before it was counted something of it was charged, at most, in milliseconds: a cost may be known late. */
  readonly lateMs: number
}

/** A time of which a process may have counted what is in no series. Milliseconds since the epoch, both ends in it. */
export interface Silence {
  readonly from: number
  readonly to: number
}
