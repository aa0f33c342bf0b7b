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

/** The options of a gateway. */
export interface GatewayOptions {
  /** The configuration in force; asked once for each request. */
  readonly rules: () => Rules
  readonly ledger: Pick<Ledger, 'decide' | 'refund'>
  readonly knownUsers: Pick<KnownUsers, 'lookUp'>
  readonly store: Pick<QuotaStore, 'readUsage'>
  /** Responds to `GET /me/usage`. */
  readonly ownUsage: OwnUsage
  readonly observe: Observer
  /** Default nobody. */
  readonly witness?: Witness | undefined
  /** By how many milliseconds the event loop is permanently late. */
  readonly lag: () => number
  readonly shares: Shares
  /** For a gateway that others ask. It forwards nothing, and responds with 200 instead. Default it forwards. */
  readonly decides?: Decides
}

/** What a proxy that asks gets besides the decision. */
export interface Decides {
  /** The id with which a request's charge can be settled later; `null` if it cannot be. */
  idOf(exchange: Exchange): string | null
}

/** What all requests of a gateway share. */
export interface Context extends GatewayOptions {
  readonly failedChecks: FailedChecks
  readonly leases: Leases
  readonly oneAddress: OneAddress
  /** Requests and tunnels under way. */
  inFlight: number
}

/** What a service says about the request for which it asks. */
export interface Given {
  /** The caller; `null` for the one in the request itself. */
  readonly caller: Caller | null
  /** The costs by category, each at least 1; `null` for those of the rule. */
  readonly charges: readonly (readonly [category: string, cost: number])[] | null
  /** The key that identifies a repeated question; `null` if each question is charged. */
  readonly key: string | null
  /** The body of the request; empty for none. The exchange reads it only if the price or the rule needs it. */
  readonly body: Buffer
  /** The response to the service. @param stop why the request may not go on; `null` if it may */
  respond(exchange: Exchange, stop: Stop | null): OwnResponse
}

/** One request or upgrade. Each step adds what it finds out, and the last step records everything. */
export class Exchange {
  readonly context: Context
  readonly req: IncomingMessage
  /** `null` for an upgrade, which has only a socket. */
  readonly res: ServerResponse | null
  readonly client: ClientPeer
  readonly rules: Rules
  readonly requestId: string
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  readonly holder: Holder
  /** Its span; `null` without telemetry. */
  readonly trace: Trace | null
  /** `null` for a client's own request, and for one about which a proxy asks. */
  given: Given | null = null
  route: Route | null = null
  /** Its target; `null` without a route. */
  target: Target | null = null
  /** The path, if no rule matches. */
  unmatched: string | null = null
  /** The entries of `edge.lenient` without which the request would have been denied. */
  lenient: readonly string[]
  caller: Caller | null = null
  /** Why the caller would have been refused without `auth.shadow`. */
  letIn: Denial | null = null
  cost = 0
  /** Its further meters, once they are priced. Absent for a route with one meter, so that it takes no memory there. */
  declare others?: readonly FurtherMeter[]
  /** The body if it had to be read before the charge. */
  body: Buffer | null = null
  /** The plan that chooses the caller's limits; `null` if nothing would be charged, or if no plans are configured. */
  plan: PlanInForce | null = null
  /** Why nothing is charged to the caller; `null` if something is. */
  exempt: Exemption | null = null
  /** `null` if the quota was not asked. */
  settlement: Settlement | null = null
  isRefunded = false
  /** The amount given back, or charged in addition, if it depends on other requests with the same key; else `null`. */
  made: Promise<number> | null = null
  /** What the request cost in the end, by its response or the length of its body; `null` if that was known before. */
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
