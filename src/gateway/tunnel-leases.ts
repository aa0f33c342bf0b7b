import type { Asking } from '../auth/asking.ts'
import type { Caller } from '../auth/authenticator.ts'
import { isVerified } from '../auth/verdict.ts'
import { type Denial, isDenial } from '../errors.ts'
import type { Observation } from '../observe/observation.ts'
import type { PlanInForce } from '../quota/policy.ts'
import { callerByAddress } from './client-address.ts'
import type { Exemption } from './exemption.ts'
import { type Charging, isShadowed, settle } from './settlement.ts'
import type { Route, Rules } from './snapshot.ts'

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

/** What a tunnel was admitted by, and what it costs so far. */
interface Leased extends Asking {
  readonly route: Route | null
  readonly caller: Caller | null
  readonly letIn: Denial | null
  cost: number
  readonly plan: PlanInForce | null
  readonly exempt: Exemption | null
}

/** A tunnel lasts no longer than what admitted it: its credential, its user's limits, its age and what it costs. */
export interface Leases {
  /** @returns ends the tunnel: `signal` is aborted with the sentence of `LEASE_ENDS` if it may last no longer; `close` is called when it has ended */
  open(exchange: Leased): { readonly signal: AbortSignal; close(): void }
}

export interface LeaseOptions extends Charging {
  /** Those in force now: a reload may take an issuer away or change limits. The route stays that of the handshake. */
  readonly rules: () => Rules
}

interface Lease {
  readonly exchange: Leased
  readonly abort: AbortController
  /** Monotonic milliseconds. */
  readonly openedAt: number
  chargedAt: number
  isBusy: boolean
  /** Bytes in both directions, and when there were fewer. */
  bytes: number
  heardAt: number
}

/** What is left of the 2 s of a revocation: a gateway token may be known and remembered for 1.45 s. */
const EVERY_MS = 400

export function createLeases(options: LeaseOptions): Leases {
  const { rules, observe } = options
  const leases = new Set<Lease>()
  let timer: NodeJS.Timeout | undefined

  function open(exchange: Leased) {
    const at = performance.now()
    const lease = {
      exchange,
      abort: new AbortController(),
      openedAt: at,
      chargedAt: at,
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
      const why = isTooOld(lease) ? 'age' : isSilent(lease) ? 'silence' : await judge(lease)
      if (why !== null && leases.has(lease)) end(lease, why)
    } catch (error) {
      observe({ type: 'internal_error', where: 'tunnel', error })
    } finally {
      lease.isBusy = false
    }
  }

  function isTooOld({ openedAt }: Lease): boolean {
    return performance.now() - openedAt >= rules().tunnelMaxAgeMs
  }

  /** A stranger who says nothing keeps a place that others wait for; a user may. */
  function isSilent(lease: Lease): boolean {
    const { caller, req } = lease.exchange
    if (caller !== null && isVerified(caller)) return false
    const bytes = (req.socket?.bytesRead ?? 0) + (req.socket?.bytesWritten ?? 0)
    if (bytes !== lease.bytes) {
      lease.bytes = bytes
      lease.heardAt = performance.now()
    }
    return performance.now() - lease.heardAt >= rules().silenceMs
  }

  async function judge(lease: Lease): Promise<LeaseEnd | null> {
    const { caller, route, cost, exempt } = lease.exchange
    if (caller === null) return null
    if (!(await isStill(lease.exchange, caller))) return 'credential'
    // What costs nothing has no limit that could end it.
    if (cost === 0 || exempt !== null || route?.tariff == null) return null
    if (isBlocked(caller, route, route.tariff.category)) return 'blocked'
    return charge(lease)
  }

  /**
   * Whether a credential cannot be known at the moment says nothing about it. One that was let in although it was not good is not checked
   * again: a check may be costly, and here no address pays for it.
   */
  async function isStill(exchange: Leased, { user, kind }: Caller): Promise<boolean> {
    const now = rules()
    const found = exchange.letIn ?? (await now.callers.resolve(exchange))
    if (!isDenial(found)) return found.user === user
    if (kind !== 'address') return found.code !== 'unauthorized'
    const caller = callerByAddress(now, exchange, found, exchange.route?.anonymous === true)
    return !isDenial(caller) && caller.user === user
  }

  function isBlocked(caller: Caller, route: Route, category: string): boolean {
    const policy = rules().policy()
    const { personal, organisation, global } = policy.limitsFor(category, caller)
    const isZero = [...personal, ...(organisation ?? []), ...(global ?? [])].some(({ limit }) => limit === 0)
    return isZero && !isShadowed(rules(), route, caller.user, policy)
  }

  /** What it costs again, if its rule says so. A store that does not decide is asked the next time. */
  async function charge(lease: Lease): Promise<LeaseEnd | null> {
    const { exchange } = lease
    const { route, caller } = exchange
    const everyMs = route?.tunnelChargeMs ?? null
    if (everyMs === null || caller === null || route?.tariff?.price.kind !== 'fixed') return null
    if (performance.now() - lease.chargedAt < everyMs) return null
    const { category, price } = route.tariff
    const { cost } = price
    const order = { rules: rules(), route, caller, plan: exchange.plan, category, cost, once: null, accept: undefined }
    const settlement = await settle(options, order)
    if (isDenial(settlement) || settlement.decision === null) return null
    lease.chargedAt += everyMs
    if (settlement.kind !== 'charged') return settlement.kind === 'refused' ? 'quota' : null
    exchange.cost += cost
    return null
  }

  function end(lease: Lease, why: LeaseEnd): void {
    observe({ type: 'tunnel_ended', why })
    lease.abort.abort(LEASE_ENDS[why])
  }

  return { open }
}
