import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import type { ClientPeer } from '../edge/connection.ts'
import type { Holder, Shares } from '../edge/shares.ts'
import type { Denial } from '../errors.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Observer, Witness } from '../observe/observation.ts'
import type { KnownUsers } from '../quota/known-users.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { PlanInForce } from '../quota/policy.ts'
import type { QuotaStore } from '../quota/quota-store.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import type { Target } from '../routing/target.ts'
import type { Exemption } from './exemption.ts'
import type { FailedChecks } from './failed-checks.ts'
import type { OneAddress } from './one-address.ts'
import type { OwnUsage } from './own-usage.ts'
import type { Settlement } from './settlement.ts'
import type { Route, Rules } from './snapshot.ts'
import type { Leases } from './tunnel-leases.ts'

/** What the gateway is given. */
export interface GatewayOptions {
  /** The configuration in force; asked once for each request. */
  readonly rules: () => Rules
  readonly ledger: Pick<Ledger, 'charge' | 'refund'>
  readonly knownUsers: Pick<KnownUsers, 'lookUp'>
  readonly store: Pick<QuotaStore, 'readUsage'>
  /** What callers used. */
  readonly ownUsage: OwnUsage
  readonly observe: Observer
  /** Default nobody. */
  readonly witness?: Witness | undefined
  /** How late the event loop lastingly is, in milliseconds. */
  readonly lag: () => number
  readonly shares: Shares
}

/** What the gateway is made of: the same for all requests. */
export interface Context extends GatewayOptions {
  readonly failedChecks: FailedChecks
  readonly leases: Leases
  readonly oneAddress: OneAddress
  /** Requests and tunnels under way. */
  inFlight: number
}

/** One request or upgrade: each step adds what it finds out, and the last one records it. */
export interface Exchange {
  readonly req: IncomingMessage
  /** `null` for an upgrade, which has a bare socket. */
  readonly res: ServerResponse | null
  readonly client: ClientPeer
  readonly rules: Rules
  readonly requestId: string
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly holder: Holder
  /** Its span; `null` without telemetry. */
  readonly trace: Trace | null
  route: Route | null
  /** The path of a request that no rule matches. */
  unmatched: string | null
  /** What of `edge.lenient` it needed. */
  lenient: readonly string[]
  caller: Caller | null
  /** Why the caller would have been refused, had `auth.shadow` not let it in. */
  letIn: Denial | null
  cost: number
  /** By which the caller's limits are chosen; `null` if nothing would be charged, or the configuration has no plans. */
  plan: PlanInForce | null
  /** Why nothing is charged to the caller; `null` if it is. */
  exempt: Exemption | null
  /** `null` if the quota is not asked. */
  settlement: Settlement | null
  isRefunded: boolean
  /** How much of its charge is given back, or charged in addition, where the other requests of its key decide that; else `null`. */
  made: Promise<number> | null
  /** What the request cost by its response; `null` if that was not asked. */
  finalCost: FinalCost | null
}

/** A request that may go to the upstream. */
export interface Pass {
  readonly target: Target
  /** The body, if it had to be read before the charge. */
  readonly body: Buffer | null
}
