import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import type { ClientPeer, IncomingRequest, IncomingUpgrade } from '../edge/connection.ts'
import type { Holder, Shares } from '../edge/shares.ts'
import type { Denial } from '../errors.ts'
import { neededFor } from '../inputs/inputs.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Observer, Witness } from '../observe/observation.ts'
import type { KnownUsers } from '../quota/known-users.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { PlanInForce } from '../quota/policy.ts'
import type { QuotaStore } from '../quota/quota-store.ts'
import type { OwnResponse } from '../respond/response.ts'
import type { FinalCost } from '../routing/final-cost.ts'
import type { Target } from '../routing/target.ts'
import { addressOf } from './client-address.ts'
import type { Exemption } from './exemption.ts'
import type { FailedChecks } from './failed-checks.ts'
import type { FurtherMeter } from './meters.ts'
import type { OneAddress } from './one-address.ts'
import type { Stop } from './outcome.ts'
import type { OwnUsage } from './own-usage.ts'
import type { Settlement } from './settlement.ts'
import type { Route, Rules } from './snapshot.ts'
import { beginTrace, type Sample } from './trace.ts'
import type { Leases } from './tunnel-leases.ts'

/** What the gateway is given. */
export interface GatewayOptions {
  /** The configuration in force; asked once for each request. */
  readonly rules: () => Rules
  readonly ledger: Pick<Ledger, 'decide' | 'refund'>
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
  /** For a gateway that others ask, and that forwards nothing: to what it would forward it responds with 200. Default it forwards. */
  readonly decides?: Decides
}

/** What a proxy that asks gets beside the decision. */
export interface Decides {
  /** The id by which the charge of a request can be settled later; `null` if it cannot be. */
  idOf(exchange: Exchange): string | null
}

/** What the gateway is made of: the same for all requests. */
export interface Context extends GatewayOptions {
  readonly failedChecks: FailedChecks
  readonly leases: Leases
  readonly oneAddress: OneAddress
  /** Requests and tunnels under way. */
  inFlight: number
}

/** What a service says of a request about which it asks. */
export interface Given {
  /** Who asks; `null` for whoever the request itself names. */
  readonly caller: Caller | null
  /** What it costs, by category, at least 1 each; `null` for what its rule says. */
  readonly charges: readonly (readonly [category: string, cost: number])[] | null
  /** The key by which a repeated question is recognised; `null` if each question is charged. */
  readonly key: string | null
  /** Of the request, empty if it has none. The exchange reads it only where the price or the rule asks for it. */
  readonly body: Buffer
  /** What the service hears. @param stop why the request may not go on; `null` if it may */
  respond(exchange: Exchange, stop: Stop | null): OwnResponse
}

/** One request or upgrade: each step adds what it finds out, and the last one records it. */
export class Exchange {
  readonly context: Context
  readonly req: IncomingMessage
  /** `null` for an upgrade, which has a bare socket. */
  readonly res: ServerResponse | null
  readonly client: ClientPeer
  readonly rules: Rules
  readonly requestId: string
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  readonly holder: Holder
  /** Its span; `null` without telemetry. */
  readonly trace: Trace | null
  /** `null` for what comes itself, and for what a proxy asks about. */
  given: Given | null = null
  route: Route | null = null
  /** Where it goes; `null` for what has no route. */
  target: Target | null = null
  /** The path of a request that no rule matches. */
  unmatched: string | null = null
  /** What of `edge.lenient` it needed. */
  lenient: readonly string[]
  caller: Caller | null = null
  /** Why the caller would have been refused, had `auth.shadow` not let it in. */
  letIn: Denial | null = null
  cost = 0
  /** Its further meters, once they are priced. Missing of a route with one, so that it costs nothing for what others may have. */
  declare others?: readonly FurtherMeter[]
  /** The body, if it had to be read before the charge. */
  body: Buffer | null = null
  /** By which the caller's limits are chosen; `null` if nothing would be charged, or the configuration has no plans. */
  plan: PlanInForce | null = null
  /** Why nothing is charged to the caller; `null` if it is. */
  exempt: Exemption | null = null
  /** `null` if the quota is not asked. */
  settlement: Settlement | null = null
  isRefunded = false
  /** How much of its charge is given back, or charged in addition, where the other requests of its key decide that; else `null`. */
  made: Promise<number> | null = null
  /** What the request cost by its response; `null` if that was not asked. */
  finalCost: FinalCost | null = null

  constructor(
    context: Context,
    { req, client, requestId }: IncomingRequest | IncomingUpgrade,
    res: ServerResponse | null,
  ) {
    const rules = context.rules()
    this.context = context
    this.req = req
    this.res = res
    this.client = client
    this.rules = rules
    this.requestId = requestId
    const address = addressOf(client, req.headers, rules.isProxy)
    this.holder = context.shares.holder(address, client.isLikelyKnown(address))
    this.lenient = rules.names.lenient.length > 0 ? neededFor(namesOf(req)) : NOTHING
    this.trace = rules.sample === null ? null : traceOf(this, rules.sample)
  }
}

const NOTHING: readonly string[] = []

function namesOf({ rawHeaders }: IncomingMessage): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 0)
}

function traceOf({ req, requestId, rules }: Exchange, sample: Sample): Trace {
  return beginTrace(req.headers, requestId, sample, rules.isProxy(req.socket.remoteAddress ?? ''))
}
