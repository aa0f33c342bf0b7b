import type { SuggestedRule } from './route-map.ts'

/** A configuration before it is written. */
export interface Draft {
  /** URL of the service; `null` for a placeholder. */
  readonly upstream: string | null
  readonly callers: Callers
  readonly credentials: Credentials
  /** The field in which the logs' credentials came; `null` if nobody said. */
  readonly key: string | null
  readonly routes: readonly SuggestedRoute[]
  /** For each category both scopes with each of its windows, in this order. */
  readonly limits: readonly SuggestedLimit[]
}

/** Whom the logs name: users, addresses, or now these and now those. */
export type Callers = 'users' | 'addresses' | 'both'

/** What users of the logs are named by, as the log of `tollgate try` shows it. */
export interface Credentials {
  readonly hasJwts: boolean
  /** That only the service can check. */
  readonly hasKeys: boolean
}

export interface SuggestedRoute extends SuggestedRule {
  /** Whole tokens, 1 to 100. */
  readonly cost: number
  /** Of the logs that it would charge. */
  readonly requests: number
  /** What a response takes, in milliseconds; `null` if the logs do not say. */
  readonly medianMs: number | null
}

export interface SuggestedLimit {
  readonly scope: 'personal' | 'global'
  readonly category: string
  readonly window: string
  readonly limit: number
  /** Why it is so, in a few words. */
  readonly why: string
}
