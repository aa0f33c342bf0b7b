import type { Asking } from '../auth/asking.ts'
import type { Caller } from '../auth/authenticator.ts'
import { isVerified, kindOf } from '../auth/verdict.ts'
import { type Denial, isDenial } from '../errors.ts'
import { type Trace, traceparentOf } from '../lib/trace-context.ts'
import type { TunnelEnd } from '../observe/observation.ts'
import { grantsIn, SCOPE_NAMES, type ScopeName } from '../quota/charged-scopes.ts'
import { daysNamedFor } from '../quota/period-days.ts'
import { callerByAddress } from './client-address.ts'
import { type Exemption, exemptionOf } from './exemption.ts'
import { costsAnything, type FurtherMeter, withMeters } from './meters.ts'
import { lineOf, plan } from './plan.ts'
import { type Charging, exempted, isShadowed, settle } from './settlement.ts'
import type { Route, RouteTariff, Rules } from './snapshot.ts'

/** The reasons in the log. */
const LEASE_ENDS: Readonly<Record<TunnelEnd, string>> = {
  credential: 'the credential of the tunnel holds no longer',
  blocked: 'a limit of 0 blocks the user of the tunnel',
  age: 'the tunnel is as old as edge.tunnel_max_age allows',
  quota: 'the quota refuses what the tunnel costs (tunnel_charge)',
  silence: 'nobody said anything on the tunnel for upstream.idle_timeout, and no credential was accepted for it',
}

/** What admitted a tunnel. */
interface Leased extends Asking {
  readonly requestId: string
  readonly trace: Trace | null
  readonly route: Route | null
  readonly caller: Caller | null
  readonly letIn: Denial | null
  readonly cost: number
  readonly others?: readonly FurtherMeter[]
  /** The rules of its handshake. */
  readonly rules: Rules
}

/** A tunnel lasts only as long as what admitted it: its credential, its user's limits, its age and its cost. */
export interface Leases {
  /**
   * @returns a `signal` that is aborted with a sentence of `LEASE_ENDS` when the tunnel may not go on. Call `close` when the tunnel has
   * ended
   */
  open(exchange: Leased): { readonly signal: AbortSignal; close(): void }
}

export interface LeaseOptions extends Charging {
  /**
   * The rules in force now, because a reload may remove an issuer, change limits, exempt a caller, or require a credential. The route
   * with its cost stays that of the handshake.
   */
  readonly rules: () => Rules
}

interface Lease {
  readonly exchange: Leased
  readonly abort: AbortController
  /** Monotonic milliseconds. */
  readonly openedAt: number
  /** The caller by the present credential, whose plan, for example, may have changed since the handshake. */
  caller: Caller | null
  /** Why its caller would be refused without `auth.shadow`. */
  letIn: Denial | null
  /** When its credential was last checked, by the monotonic clock. */
  judgedAt: number
  /** Whether it would need no credential under `seen`. */
  isAnonymous: boolean
  seen: Rules
  /** How many charges of `tunnel_charge` were due and decided. */
  charges: number
  isBusy: boolean
  /** Bytes in both directions, and when they last changed. */
  bytes: number
  heardAt: number
}

/** How often tunnels are looked at, in milliseconds. A revocation ends a tunnel within 2 s, of which an access key may be remembered 1.45 s. */
const EVERY_MS = 400
/** How often a provider is asked about a tunnel's credential. A thousand tunnels would otherwise ask 2,500 times a second. */
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

  function end(lease: Lease, why: TunnelEnd): void {
    observe({ type: 'tunnel_ended', why })
    lease.abort.abort(LEASE_ENDS[why])
  }

  return { open }
}

function createJudge(options: LeaseOptions): (lease: Lease) => Promise<TunnelEnd | null> {
  const { rules } = options

  function isTooOld({ openedAt }: Lease): boolean {
    return performance.now() - openedAt >= rules().tunnelMaxAgeMs
  }

  /** A stranger's silent tunnel holds a place for which others wait. A user's tunnel may be silent. */
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

  /** Why the tunnel may not go on; `null` if it may. */
  async function judge(lease: Lease): Promise<TunnelEnd | null> {
    if (isTooOld(lease)) return 'age'
    return isSilent(lease) ? 'silence' : judgeCaller(lease)
  }

  async function judgeCaller(lease: Lease): Promise<TunnelEnd | null> {
    const { exchange } = lease
    const { route } = exchange
    if (lease.caller === null) return null
    const caller = await callerNow(lease, lease.caller)
    if (caller === null) return 'credential'
    lease.caller = caller
    // A tunnel that costs nothing has no limit that could end it.
    if (route?.tariff == null || !costsAnything(exchange)) return null
    const exempt = exemptionOf(rules(), exchange, caller)
    if (exempt === null && isBlocked(rules(), caller, route, chargedCategories(exchange, route.tariff)))
      return 'blocked'
    return chargeIfDue(options, lease, caller, route, exempt)
  }

  /**
   * If a credential cannot be checked at the moment, nothing changes. A credential that was let in although it is invalid is not checked
   * again, because checks may be costly, and no address pays for them here.
   * @returns the present caller, or `null` if the tunnel may not go on
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
    // From now on the tunnel is treated as a new request would be.
    lease.letIn = found
    return addressNow(lease, found, null)
  }

  /** @param before the user that it must still be; `null` for any */
  function addressNow(lease: Lease, refused: Denial, before: Caller | null): Caller | null {
    const now = rules()
    const found = callerByAddress(now, lease.exchange, refused, isAnonymous(lease, now))
    if (isDenial(found)) return null
    return before === null || found.user === before.user ? found : null
  }

  /** Whether the rule in force needs no credential. If no rule matches any more, the last result stays. */
  function isAnonymous(lease: Lease, now: Rules): boolean {
    if (lease.seen === now) return lease.isAnonymous
    lease.seen = now
    const planned = plan(now, lineOf(lease.exchange.req, null, now))
    if (planned.kind === 'route') lease.isAnonymous = planned.route.anonymous || planned.route.tariff === null
    return lease.isAnonymous
  }

  return judge
}

/** Whether a limit of 0 refuses whatever the caller does. A grant pays in place of such a limit, unless an override blocks its owner. */
function isBlocked(rules: Rules, caller: Caller, route: Route, categories: readonly string[]): boolean {
  const policy = rules.policy()
  const isZero = categories.some((category) => {
    const limits = policy.limitsFor(category, caller)
    const isPaid = (scope: ScopeName) => grantsIn(limits.grants, scope).length > 0
    return SCOPE_NAMES.some((scope) => !isPaid(scope) && limits[scope]?.some(({ limit }) => limit === 0))
  })
  return isZero && !isShadowed(rules, route, caller.user, policy)
}

function chargedCategories({ cost, others = [] }: Leased, { category }: RouteTariff): string[] {
  const further = others.filter((meter) => meter.cost > 0).map(({ rule }) => rule.category)
  return cost > 0 ? [category, ...further] : further
}

/** Charges what the tunnel costs again when its rule says so. If the store does not decide, it is asked again at the next look. */
async function chargeIfDue(
  options: LeaseOptions,
  lease: Lease,
  caller: Caller,
  route: Route,
  exempt: Exemption | null,
): Promise<TunnelEnd | null> {
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
