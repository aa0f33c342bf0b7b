import { type Denial, denial } from '../errors.ts'

/**
 * How a user was identified. Unverified kinds distinguish callers without saying who they are, so the upstream does not learn of them. A
 * plain id comes unchanged from a verified source; other ids begin with their kind. The log does not name the usual kinds.
 */
const KINDS = {
  jwt: { isVerified: true, isPlain: true, isUsual: true },
  gateway_token: { isVerified: true, isPlain: true, isUsual: true },
  introspected: { isVerified: true, isPlain: true, isUsual: false },
  trusted: { isVerified: true, isPlain: true, isUsual: false },
  certificate: { isVerified: true, isPlain: false, isUsual: false },
  unverified_key: { isVerified: false, isPlain: false, isUsual: false },
  address: { isVerified: false, isPlain: false, isUsual: false },
} as const

export type CallerKind = keyof typeof KINDS

/** Whether the identity of a caller is verified. */
export function isVerified({ kind }: Pick<Caller, 'kind'>): boolean {
  return KINDS[kind].isVerified
}

export function hasPlainId({ kind }: Pick<Caller, 'kind'>): boolean {
  return KINDS[kind].isPlain
}

/** How a caller was identified, for the log; `null` for the usual kinds. */
export function kindOf({ kind }: Pick<Caller, 'kind'>): string | null {
  return KINDS[kind].isUsual ? null : kind
}

/** The user to whom a request is charged. */
export interface Caller {
  /**
   * The user id. A verified id is exactly the text in the credential. Ids of other kinds that could equal it begin with
   * their kind, as in `address:192.0.2.1`.
   */
  readonly user: string
  readonly kind: CallerKind
  /** `null` for none. */
  readonly organisation: string | null
  /** `null` for none. */
  readonly plan: string | null
  /** The first day of months. Absent for none. */
  readonly periodDay?: number
  /** The claims to forward, as texts by their path. */
  readonly claims: Readonly<Record<string, string>>
}

const NO_CLAIMS = Object.freeze({})

/** A caller whose user alone is known. */
export function callerOf(user: string, kind: CallerKind): Caller {
  return { user, kind, organisation: null, plan: null, claims: NO_CLAIMS }
}

/** A caller, and when the credential ends (milliseconds since the epoch, perhaps Infinity). */
export interface Verified {
  readonly caller: Caller
  readonly until: number
}

const CHALLENGE = 'Bearer realm="tollgate"'

/** The request has no credential. Some routes let such callers in. */
export interface Missing extends Denial {
  readonly isMissing: true
}

/** The request has no credential, so the challenge has no error code (RFC 6750, section 3.1). @param msg for the client */
export function missing(reason: string, msg = 'A Bearer credential is required.'): Missing {
  return {
    ...denial('unauthorized', msg, { headers: { 'WWW-Authenticate': CHALLENGE }, reason }),
    isMissing: true,
  }
}

export function isMissing(refused: Denial): refused is Missing {
  return 'isMissing' in refused
}

/**
 * The request has a credential that is not accepted.
 * @param reason for the log; never the credential or a part of it
 * @param msg for the client, also as `error_description`: printable ASCII without quotes and backslashes
 */
export function invalid(reason: string, msg = 'The credential is not valid.'): Denial {
  return denial('unauthorized', msg, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token", error_description="${msg}"` },
    reason,
  })
}

/** There are two different credentials, and the upstream must not have to guess which one counts. */
export function several(): Denial {
  return denial('bad_request', 'The request holds two different credentials: send one.', {
    reason: 'two different credentials',
  })
}

/** Services read this name or form of a credential in different ways, and must not have to guess. */
export function unclear(): Denial {
  return denial('bad_request', 'The credential can be read in several ways: send it once, by its very name.', {
    reason: 'a credential of several readings',
  })
}

/**
 * It is unknown now whether the credential is accepted. A 401 would make clients throw good credentials away.
 * @param retryAfter whole seconds
 */
export function unknowable(code: 'store_unavailable' | 'overloaded', reason: string, retryAfter: number): Denial {
  return denial(code, 'The credential cannot be checked at the moment.', {
    headers: { 'Retry-After': String(retryAfter) },
    reason,
  })
}
