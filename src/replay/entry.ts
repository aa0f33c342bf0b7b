import type { NamedDays } from '../quota/payer.ts'

/** One request as a line of an access log describes it. */
export interface Entry {
  /** The time at which the request came, in milliseconds since the epoch, with a fraction if the log has one. */
  readonly at: number
  /** The time at which its response ended. */
  readonly endedAt: number
  readonly method: string
  readonly target: EntryTarget
  /** `null` if the log names no user: then the address counts. */
  readonly user: string | null
  /** The client's address; `null` if the log has none, or names a user. */
  readonly address: string | null
  /** The plan that the credential named, if the log has it; otherwise the plan whose limits held. */
  readonly plan: string | null
  readonly organisation: string | null
  /** The days on which months begin by the credential or an override, from the log of a gateway. Missing if neither sets one. */
  readonly days?: NamedDays
  /** The tokens of its price; `null` if the log has none. */
  readonly cost: number | null
  /** Tokens that stayed charged; `null` if they are the cost, or not known. */
  readonly charged: number | null
  /** The cost and the charged tokens in each of its categories; missing for a request with one. */
  readonly meters?: readonly EntryMeter[]
  /**
   * - `passed` the request was forwarded
   * - `unreached` forwarding reached nobody, and the charge was given back
   * - `repeated` the request repeated a charged one, and was not charged
   * - `asked_again` a question of another proxy or a service was repeated. No rule need read the key of such a question
   * - `exempt` its address was exempt from the quota
   * - `exempt_user` its user was exempt from the quota. A replay charges the user unless its own configuration exempts him
   * - `refused` the quota refused the request
   * - `shadowed` the quota would have refused the request, and shadow let it through
   * - `undecided` shadow let the request through without a limit: the store was out, or its key was that of another request
   */
  readonly fate: (typeof FATES)[number]
  /** `true` if the upstream was asked and the response had a status of 400 or more; otherwise missing. */
  readonly failed?: true
  /** Set for a WebSocket; missing for any other request. */
  readonly tunnel?: TunnelEntry
}

/** In the order in which a journal numbers them. */
export const FATES = [
  ...(['passed', 'unreached', 'repeated', 'asked_again', 'exempt', 'exempt_user'] as const),
  ...(['refused', 'shadowed', 'undecided'] as const),
] as const

/** The charge of a request in one of several categories. */
export interface EntryMeter {
  readonly category: string
  readonly cost: number | null
  readonly charged: number | null
}

/** The handshake of a WebSocket, or a charge for it while it was open. */
export interface TunnelEntry {
  /** The same id for the handshake and all its charges. */
  readonly id: string
  /** How long the tunnel was open at the charge, in milliseconds; 0 for the handshake. */
  readonly openMs: number
  /** The interval between charges of the open tunnel, in milliseconds; 0 for the handshake. */
  readonly everyMs: number
}

/** What a request asked for. */
export type Asked = Pick<Entry, 'method' | 'target'>

export type EntryTarget =
  /** The matching rule, in the words of the configuration of that time. */
  | { readonly kind: 'rule'; readonly text: string }
  /** The path as the client sent it. A journal has its query only if the price is in the query. */
  | { readonly kind: 'path'; readonly text: string }

/** The meaning of a line for a reader of logs. */
export type Reading =
  | { readonly kind: 'request'; readonly entry: Entry }
  /** A line of another kind, or a request that never came to the quota, with the reason in a few words. */
  | { readonly kind: 'other'; readonly why: 'not a request' | 'refused before the quota' | 'no rule' }
  /** The problem of the line. */
  | { readonly kind: 'unreadable'; readonly problem: string }

/** Reads one line, without its end. */
export type LineReader = (line: string) => Reading

export function unreadable(problem: string): Reading {
  return { kind: 'unreadable', problem }
}
