import type { SuggestedRule } from './route-map.ts'

/** A configuration before it is written. */
export interface Draft {
  /** URL of the service; `null` for a placeholder. */
  readonly upstream: string | null
  readonly callers: Callers
  readonly credentials: Credentials
  /** The header field in which the credentials of the logs came; `null` if it is not known. */
  readonly key: string | null
  readonly routes: readonly SuggestedRoute[]
  /** The limits by scope, then by category, then by window. Each category has both scopes and every window. */
  readonly limits: readonly SuggestedLimit[]
}

/** The callers that the logs name: users, addresses, or both. */
export type Callers = 'users' | 'addresses' | 'both'

/** The kinds of credentials by which the logs name users, as the log of `tollgate try` has them. */
export interface Credentials {
  readonly hasJwts: boolean
  /** Whether there are keys that only the service can check. */
  readonly hasKeys: boolean
}

export interface SuggestedRoute extends SuggestedRule {
  /** Whole tokens, 1 to 100. */
  readonly cost: number
  /** Requests of the logs that the route would charge. */
  readonly requests: number
  /** The median duration of a response, in milliseconds; `null` if the logs do not have it. */
  readonly medianMs: number | null
}

export interface SuggestedLimit {
  readonly scope: 'personal' | 'global'
  readonly category: string
  readonly window: string
  readonly limit: number
  /** The reason in a few words. */
  readonly why: string
}
