import type { AlertsResponse, RoutesResponse } from '../contract/api.ts'
import { limitsAhead } from '../control/limits-ahead.ts'
import { asOverrides } from '../control/overrides.ts'
import { type FileSettings, originOf, type Resolved, resolve } from '../control/settings.ts'
import { type ControlState, storedOf } from '../control/state.ts'
import type { Priced } from '../control/too-dear.ts'
import type { Adaptive, AdaptiveOptions } from '../failures/adaptive.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { Ahead } from '../quota/ahead.ts'
import { createPolicy, type Origin, type Policy } from '../quota/policy.ts'
import type { IsKnown } from '../quota/reserve.ts'
import type { UsageRules } from '../usage/usage-query.ts'

/** What the admin listener has to know of the configuration in force. */
export interface Setup {
  /** As it was named. */
  readonly file: string
  readonly hash: string
  readonly quota: FileSettings
  readonly adaptive: AdaptiveOptions
  /** The place of a value of the quota in the file, as `FILE:LINE`; `null` for the built-in defaults. */
  readonly origin: Origin
  /** Scheme, host and port of the upstream. */
  readonly upstream: string
  readonly store: 'sqlite' | 'redis'
  /** Whether `auth.shadow` lets everybody in. */
  readonly authShadow: boolean
  /** Whether somebody may lead an organisation: then it matters whose credentials named it. */
  readonly hasLeads: boolean
  /** By category: the share of the limits that is admitted while the store is out. */
  readonly storeOutage: ReadonlyMap<string, number>
  /** In the order of the file. */
  readonly routes: readonly Omit<RoutesResponse['routes'][number], 'hits'>[]
  readonly unmatched: RoutesResponse['unmatched']['kind']
  /** By category, the cost of the cheapest request that the quota may refuse. A category is absent if the quota refuses nothing in it. */
  readonly cheapest: ReadonlyMap<string, number>
  /** Users to whom nothing is charged. */
  readonly exempt: ReadonlySet<string>
  /** In the order of the file. Of a receiver scheme, host and port: the rest of its URL may be a secret. */
  readonly alerts: readonly Omit<AlertsResponse['alerts'][number], 'pending'>[]
  /** What can be asked of usage. */
  readonly usage: UsageRules
  /** What the requests cost that the quota may refuse, in the order of the file. */
  readonly priced: readonly Priced[]
}

/** What is in force: the file, the changes at run time, and the limits that they make. */
export interface InForce extends Resolved {
  readonly setup: Setup
  readonly state: ControlState
  readonly policy: Policy
  /** What the limits become by ends and beginnings that are known already. */
  readonly ahead: Ahead
  /** As the setup's, and the place of a value that was set at run time. */
  readonly origin: Origin
}

/** What is in force at a moment, and what became of the requests before it. */
export interface View extends InForce {
  /** That of the limits. */
  readonly adaptive: Adaptive
  /** The failure histogram, and the store's time of the reading in milliseconds since the epoch. */
  readonly buckets: Tallies['buckets']
  readonly at: number
}

export type Tallies = Awaited<ReturnType<FailureStore['readTallies']>>

export function viewOf(
  setup: Setup,
  state: ControlState,
  { at, buckets }: Tallies,
  adaptive: Adaptive,
  isKnown?: IsKnown,
): View {
  return { ...inForceOf(setup, state, adaptive.factor, isKnown), adaptive, buckets, at }
}

/** @param factor of mode `adaptive` @param isKnown as of `createPolicy` */
export function inForceOf(setup: Setup, state: ControlState, factor: number, isKnown?: IsKnown): InForce {
  const resolved = resolve(setup.quota, state.settings.value)
  return {
    ...resolved,
    setup,
    state,
    policy: createPolicy(resolved.settings, factor, asOverrides(state), isKnown),
    ahead: limitsAhead({
      file: setup.quota,
      stored: storedOf(state),
      factor,
      isKnown,
      isAdaptive: resolved.settings.mode === 'adaptive',
    }),
    origin: originOf(state.settings.value, setup.origin),
  }
}
