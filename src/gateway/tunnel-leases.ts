import type { Asking } from '../auth/asking.ts'
import type { Caller } from '../auth/authenticator.ts'
import { isVerified, kindOf } from '../auth/verdict.ts'
import { type Denial, isDenial } from '../errors.ts'
import { type Trace, traceparentOf } from '../lib/trace-context.ts'
import type { Observation } from '../observe/observation.ts'
import { daysNamedFor } from '../quota/period-days.ts'
import { callerByAddress } from './client-address.ts'
import { type Exemption, exemptionOf } from './exemption.ts'
import { costsAnything, type FurtherMeter, withMeters } from './meters.ts'
import { lineOf, plan } from './plan.ts'
import { type Charging, exempted, isShadowed, settle } from './settlement.ts'
import type { Route, RouteTariff, Rules } from './snapshot.ts'

/** Why a tunnel is ended. */
type LeaseEnd = Extract<Observation, { type: 'tunnel_ended' }>['why']

/** As the log has it. */
const LEASE_ENDS: Readonly<Record<LeaseEnd, string>> = {
  credential: 'the credential of the tunnel holds no longer',
  blocked: 'a limit of 0 blocks the user of the tunnel',
  age: 'the tunnel is as old as edge.tunnel_max_age allows',
  quota: 'the quota refuses what the tunnel costs (tunnel_charge)',
  silence: 'nobody said anything on the tunnel for upstream.idle_timeout, and no credential was accepted for it',
}

/** What a tunnel was admitted by. */
interface Leased extends Asking {
  readonly requestId: string
  readonly trace: Trace | null
  readonly route: Route | null
  readonly caller: Caller | null
  readonly letIn: Denial | null
  readonly cost: number
  readonly others?: readonly FurtherMeter[]
  /** Those of its handshake. */
  readonly rules: Rules
}

/** A tunnel lasts no longer than what admitted it: its credential, its user's limits, its age and what it costs. */
export interface Leases {
  /** @returns ends the tunnel: `signal` is aborted with the sentence of `LEASE_ENDS` if it may last no longer; `close` is called when it has ended */
  open(exchange: Leased): { readonly signal: AbortSignal; close(): void }
}

export interface LeaseOptions extends Charging {
  /**
   * Those in force now: a reload may take an issuer away, change limits, exempt a caller, or let nobody in without a credential any more.
   * The route stays that of the handshake, with its cost.
   */
  readonly rules: () => Rules
}

interface Lease {
  readonly exchange: Leased
  readonly abort: AbortController
  /** Monotonic milliseconds. */
  readonly openedAt: number
  /** As its credential has it now: its plan, for example, may be another than at the handshake. */
  caller: Caller | null
  /** Why its caller would be refused, had `auth.shadow` not let it in or go on. */
  letIn: Denial | null
  /** When its credential was last judged, by the monotonic clock. */
  judgedAt: number
  /** Whether it would need no credential by `seen`. */
  isAnonymous: boolean
  seen: Rules
  /** How often a charge of `tunnel_charge` was due and decided. */
  charges: number
  isBusy: boolean
  /** Bytes in both directions, and when there were fewer. */
  bytes: number
  heardAt: number
}

/** What is left of the 2 s of a revocation: an access key may be known and remembered for 1.45 s. */
const EVERY_MS = 400
/** A provider is asked about a credential no sooner than after this time: a thousand tunnels would ask it 2,500 times a second. */
const ASK_MS = 1_500

export function createLeases(options: LeaseOptions): Leases {
  const { observe } = options
  const judge = createJudge(options)
  const leases = new Set<Lease>()
  let timer: NodeJS.Timeout | undefined

  function open(exchange: Leased) {
    const at = performance.now()
    const lease: Lease = {
      exchange,
      abort: new AbortController(),
      openedAt: at,
      caller: exchange.caller,
      letIn: exchange.letIn,
      judgedAt: at,
      isAnonymous: exchange.route?.anonymous === true,
      seen: exchange.rules,
      charges: 0,
      isBusy: false,
      bytes: 0,
      heardAt: at,
    }
    leases.add(lease)
    timer ??= setInterval(lookAtAll, EVERY_MS).unref()
    return { signal: lease.abort.signal, close: () => close(lease) }
  }

  function close(lease: Lease): void {
    leases.delete(lease)
    if (leases.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function lookAtAll(): void {
    for (const lease of leases) if (!lease.isBusy) void lookAt(lease)
  }

  async function lookAt(lease: Lease): Promise<void> {
    lease.isBusy = true
    try {
      const why = await judge(lease)
      if (why !== null && leases.has(lease)) end(lease, why)
    } catch (error) {
      observe({ type: 'internal_error', where: 'tunnel', error })
    } finally {
      lease.isBusy = false
    }
  }

  function end(lease: Lease, why: LeaseEnd): void {
    observe({ type: 'tunnel_ended', why })
    lease.abort.abort(LEASE_ENDS[why])
  }

  return { open }
}

function createJudge(options: LeaseOptions): (lease: Lease) => Promise<LeaseEnd | null> {
  const { rules } = options

  function isTooOld({ openedAt }: Lease): boolean {
    return performance.now() - openedAt >= rules().tunnelMaxAgeMs
  }

  /** A stranger who says nothing keeps a place that others wait for; a user may. */
  function isSilent(lease: Lease): boolean {
    const { caller, exchange } = lease
    const { req } = exchange
    if (caller !== null && isVerified(caller)) return false
    const bytes = (req.socket?.bytesRead ?? 0) + (req.socket?.bytesWritten ?? 0)
    if (bytes !== lease.bytes) {
      lease.bytes = bytes
      lease.heardAt = performance.now()
    }
    return performance.now() - lease.heardAt >= rules().silenceMs
  }

  /** Why the tunnel may last no longer; `null` if it may. */
  async function judge(lease: Lease): Promise<LeaseEnd | null> {
    if (isTooOld(lease)) return 'age'
    return isSilent(lease) ? 'silence' : judgeCaller(lease)
  }

  async function judgeCaller(lease: Lease): Promise<LeaseEnd | null> {
    const { exchange } = lease
    const { route } = exchange
    if (lease.caller === null) return null
    const caller = await callerNow(lease, lease.caller)
    if (caller === null) return 'credential'
    lease.caller = caller
    // What costs nothing has no limit that could end it.
    if (route?.tariff == null || !costsAnything(exchange)) return null
    const exempt = exemptionOf(rules(), exchange, caller)
    if (exempt === null && isBlocked(rules(), caller, route, chargedCategories(exchange, route.tariff)))
      return 'blocked'
    return chargeIfDue(options, lease, caller, route, exempt)
  }

  /**
   * Whether a credential cannot be known at the moment says nothing about it. One that was let in although it was not good is not checked
   * again: a check may be costly, and here no address pays for it.
   * @returns the caller as it is now, or `null` if it may not go on
   */
  async function callerNow(lease: Lease, caller: Caller): Promise<Caller | null> {
    const { exchange } = lease
    const now = rules()
    if (caller.kind === 'introspected' && performance.now() - lease.judgedAt < ASK_MS) return caller
    lease.judgedAt = performance.now()
    const found = lease.letIn ?? (await now.callers.resolve(exchange))
    if (!isDenial(found)) return found.user === caller.user ? found : null
    if (caller.kind === 'address') return addressNow(lease, found, caller)
    if (found.code !== 'unauthorized') return caller
    if (!now.callers.shadow) return null
    // As a request would be, from now on.
    lease.letIn = found
    return addressNow(lease, found, null)
  }

  /** @param before whose user it has to be; `null` for any */
  function addressNow(lease: Lease, refused: Denial, before: Caller | null): Caller | null {
    const now = rules()
    const found = callerByAddress(now, lease.exchange, refused, isAnonymous(lease, now))
    if (isDenial(found)) return null
    return before === null || found.user === before.user ? found : null
  }

  /** By the rule in force. Where there is none any more, that of the handshake stays. */
  function isAnonymous(lease: Lease, now: Rules): boolean {
    if (lease.seen === now) return lease.isAnonymous
    lease.seen = now
    const planned = plan(now, lineOf(lease.exchange.req, null, now))
    if (planned.kind === 'route') lease.isAnonymous = planned.route.anonymous || planned.route.tariff === null
    return lease.isAnonymous
  }

  return judge
}

function isBlocked(rules: Rules, caller: Caller, route: Route, categories: readonly string[]): boolean {
  const policy = rules.policy()
  const isZero = categories.some((category) => {
    const { personal, organisation, global } = policy.limitsFor(category, caller)
    return [...personal, ...(organisation ?? []), ...(global ?? [])].some(({ limit }) => limit === 0)
  })
  return isZero && !isShadowed(rules, route, caller.user, policy)
}

function chargedCategories({ cost, others = [] }: Leased, { category }: RouteTariff): string[] {
  const further = others.filter((meter) => meter.cost > 0).map(({ rule }) => rule.category)
  return cost > 0 ? [category, ...further] : further
}

/** What it costs again, if its rule says so. A store that does not decide is asked the next time. */
async function chargeIfDue(
  options: LeaseOptions,
  lease: Lease,
  caller: Caller,
  route: Route,
  exempt: Exemption | null,
): Promise<LeaseEnd | null> {
  const everyMs = route.tunnelChargeMs
  if (everyMs === null || route.tariff === null) return null
  const openMs = (lease.charges + 1) * everyMs
  if (performance.now() - lease.openedAt < openMs) return null
  const { requestId, req, trace, cost, others } = lease.exchange
  const { category } = route.tariff
  const rules = options.rules()
  const policy = rules.policy()
  const plan = policy.planOf(caller)
  const days = daysNamedFor(policy, caller)
  const traceparent = trace?.traceparent ?? traceparentOf(req.headers)
  const of = { kind: kindOf(caller), ...(days && { days }), openMs, everyMs }
  const tunnel = { requestId, traceparent, method: req.method ?? '', ...of }
  const own = { rules, route, caller, plan, category, cost, once: null, accept: undefined, tunnel }
  const order = others === undefined ? own : withMeters(own, others)
  if (exempt !== null) {
    exempted(options, order, exempt)
    lease.charges++
    return null
  }
  const settlement = await settle(options, order)
  if (isDenial(settlement)) return null
  lease.charges++
  return settlement.kind === 'refused' ? 'quota' : null
}
