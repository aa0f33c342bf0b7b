import { type Denial, denial } from '../errors.ts'

/**
 * How a user came to be known. Kinds that are not verified tell callers apart, and do not say who somebody is, so the upstream is told of
 * none of them. A plain id comes as it is from whoever verified it; other ids begin with their kind. The usual kinds need no word in the log.
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

/** Whether it is known who a caller is. */
export function isVerified({ kind }: Pick<Caller, 'kind'>): boolean {
  return KINDS[kind].isVerified
}

export function hasPlainId({ kind }: Pick<Caller, 'kind'>): boolean {
  return KINDS[kind].isPlain
}

/** How a caller came to be known, for the log; `null` for the usual kinds. */
export function kindOf({ kind }: Pick<Caller, 'kind'>): string | null {
  return KINDS[kind].isUsual ? null : kind
}

/** Whom a request is charged to. */
export interface Caller {
  /**
   * The user id. A verified one is as it stood in the credential: never folded, trimmed or normalised. One of the kinds that
   * could name the user of another kind begins with its kind, as in `address:192.0.2.1`.
   */
  readonly user: string
  readonly kind: CallerKind
  /** `null` if nothing names one. */
  readonly organisation: string | null
  /** `null` if nothing names one. */
  readonly plan: string | null
  /** The day with which months begin; missing if nothing names one. */
  readonly periodDay?: number
  /** The claims that are forwarded, as texts by their path. */
  readonly claims: Readonly<Record<string, string>>
}

const NO_CLAIMS = Object.freeze({})

/** A caller of whom nothing but the user is known. */
export function callerOf(user: string, kind: CallerKind): Caller {
  return { user, kind, organisation: null, plan: null, claims: NO_CLAIMS }
}

/** A caller, and the moment from which the credential no longer holds (milliseconds since the epoch; may be Infinity). */
export interface Verified {
  readonly caller: Caller
  readonly until: number
}

const CHALLENGE = 'Bearer realm="tollgate"'

/** No credential came. Whoever takes callers without one looks for this. */
export interface Missing extends Denial {
  readonly isMissing: true
}

/** The challenge has no error code then (RFC 6750, section 3.1). @param msg for the client */
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
 * A credential came and is not good.
 * @param reason for the log; never the credential or a part of it
 * @param msg for the client, also as `error_description`: printable ASCII without quotes and backslashes
 */
export function invalid(reason: string, msg = 'The credential is not valid.'): Denial {
  return denial('unauthorized', msg, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token", error_description="${msg}"` },
    reason,
  })
}

/** Two different credentials: which of them counts must not be for the service behind to guess. */
export function several(): Denial {
  return denial('bad_request', 'The request holds two different credentials: send one.', {
    reason: 'two different credentials',
  })
}

/** A credential under a name, or in a form, that services read in several ways: which they take must not be for them to guess. */
export function unclear(): Denial {
  return denial('bad_request', 'The credential can be read in several ways: send it once, by its very name.', {
    reason: 'a credential of several readings',
  })
}

/**
 * Whether the credential is good cannot be known now. A 401 would make clients throw away good credentials.
 * @param retryAfter whole seconds
 */
export function unknowable(code: 'store_unavailable' | 'overloaded', reason: string, retryAfter: number): Denial {
  return denial(code, 'The credential cannot be checked at the moment.', {
    headers: { 'Retry-After': String(retryAfter) },
    reason,
  })
}
