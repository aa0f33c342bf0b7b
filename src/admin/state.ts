import type { AlertsResponse, NowResponse, RoutesResponse } from '../contract/api.ts'
import { limitsAhead } from '../control/limits-ahead.ts'
import { asOverrides } from '../control/overrides.ts'
import { type FileSettings, originOf, type Resolved, resolve } from '../control/settings.ts'
import { type ControlState, storedOf } from '../control/state.ts'
import type { Adaptive, AdaptiveOptions } from '../failures/adaptive.ts'
import type { FailureStore } from '../failures/histogram.ts'
import type { Ahead } from '../quota/ahead.ts'
import { createPolicy, type Origin, type Policy } from '../quota/policy.ts'
import type { IsKnown } from '../quota/reserve.ts'
import type { UsageRules } from '../usage/usage-query.ts'
import type { Priced } from './too-dear.ts'

/** What the admin listener has to know about the configuration in force. */
export interface Setup {
  /** The configuration file, by the name with which it was given. */
  readonly file: string
  readonly hash: string
  readonly quota: FileSettings
  readonly adaptive: AdaptiveOptions
  /** The place of a value in the file, as `FILE:LINE`; `null` for a built-in default. */
  readonly origin: Origin
  /** Scheme, host and port of the upstream. */
  readonly upstream: string
  readonly store: NowResponse['store']['kind']
  /** Whether `auth.shadow` lets everybody in. */
  readonly authShadow: boolean
  /** Whether leads are configured. Then it matters which organisation credentials have named. */
  readonly hasLeads: boolean
  /** By category, the share of the limits that is admitted while the store is out. */
  readonly storeOutage: ReadonlyMap<string, number>
  /** In the order of the file. */
  readonly routes: readonly Omit<RoutesResponse['routes'][number], 'hits'>[]
  readonly unmatched: RoutesResponse['unmatched']['kind']
  /** By category, the cost of the cheapest request that the quota may refuse. Absent if it refuses nothing in the category. */
  readonly cheapest: ReadonlyMap<string, number>
  /** Users to whom nothing is charged. */
  readonly exempt: ReadonlySet<string>
  /** In the order of the file. A receiver is shown by scheme, host and port, because the rest of its URL may be secret. */
  readonly alerts: readonly Omit<AlertsResponse['alerts'][number], 'pending'>[]
  /** Which usage is counted and kept, so that questions about it can be checked. */
  readonly usage: UsageRules
  /** The costs of requests that the quota may refuse, in the order of the file. */
  readonly priced: readonly Priced[]
}

/** Everything in force: the file, the changes at run time, and the limits that result. */
export interface InForce extends Resolved {
  readonly setup: Setup
  readonly state: ControlState
  readonly policy: Policy
  /** How limits will change at moments that are already known. */
  readonly ahead: Ahead
  /** As `origin` of the setup, and also for values that were set at run time. */
  readonly origin: Origin
}

/** What is in force at one moment, and what happened to the requests before it. */
export interface View extends InForce {
  /** The adaptive factor used for the limits. */
  readonly adaptive: Adaptive
  /** The failure histogram, with the store's time in milliseconds since the epoch. */
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
