import type { NamedDays } from '../quota/payer.ts'

/** What a line of an access log says of one request. */
export interface Entry {
  /** When the request came, in milliseconds since the epoch, with a fraction where the log has one. */
  readonly at: number
  /** When its response ended. */
  readonly endedAt: number
  readonly method: string
  readonly target: EntryTarget
  /** `null` if the log names none: then the address asks. */
  readonly user: string | null
  /** Of the client; `null` if the log has none, or names a user. */
  readonly address: string | null
  /** The one that the credential named, if the log says that; else the one whose limits held. */
  readonly plan: string | null
  readonly organisation: string | null
  /** With which days months begin by the credential or an override, as the log of a gateway has it. Missing if neither says one. */
  readonly days?: NamedDays
  /** Tokens that it was to cost; `null` if the log has none. */
  readonly cost: number | null
  /** Tokens that stayed charged; `null` if that is the cost, or not known. */
  readonly charged: number | null
  /** The same of each of its meters; missing of a request with one. */
  readonly meters?: readonly EntryMeter[]
  /**
   * - `passed` it was forwarded
   * - `unreached` it was forwarded to nobody, and given back
   * - `repeated` it repeated one that was charged, and was not charged
   * - `asked_again` the same of a question by another proxy or a service, which may have a key that no rule reads
   * - `exempt` its caller is never charged, by address
   * - `exempt_user` the same by user, whom a configuration can be asked for
   * - `refused` the quota refused it
   * - `shadowed` the quota would have, and shadow let it through
   * - `undecided` shadow let it through, and no limit was asked: the store was out, or its key was that of another request
   */
  readonly fate:
    | 'passed'
    | 'unreached'
    | 'repeated'
    | 'asked_again'
    | 'exempt'
    | 'exempt_user'
    | 'refused'
    | 'shadowed'
    | 'undecided'
  /** `true` if the upstream was asked and the response had a status of 400 or more; else missing. */
  readonly failed?: true
  /** Of a WebSocket; missing of any other request. */
  readonly tunnel?: TunnelEntry
}

/** What a request was charged in one of several categories. */
export interface EntryMeter {
  readonly category: string
  readonly cost: number | null
  readonly charged: number | null
}

/** The handshake of a WebSocket, or a charge for it while it was open. */
export interface TunnelEntry {
  /** The same for its handshake and all its charges. */
  readonly id: string
  /** How long it was open when it was charged, in milliseconds; 0 of the handshake. */
  readonly openMs: number
  /** How often it was charged; 0 of the handshake. */
  readonly everyMs: number
}

export type EntryTarget =
  /** The rule that it matched, as that configuration has it. */
  | { readonly kind: 'rule'; readonly text: string }
  /** The path as the client sent it, without the query. */
  | { readonly kind: 'path'; readonly text: string }

/** What a line is, to whoever reads the log. */
export type Reading =
  | { readonly kind: 'request'; readonly entry: Entry }
  /** A line of another kind, or a request that never came to the quota: why, in a few words. */
  | { readonly kind: 'other'; readonly why: 'not a request' | 'refused before the quota' | 'no rule' }
  /** What is wrong with it. */
  | { readonly kind: 'unreadable'; readonly problem: string }

/** Reads one line, without its end. */
export type LineReader = (line: string) => Reading

export function unreadable(problem: string): Reading {
  return { kind: 'unreadable', problem }
}
