import type { Caller } from '../auth/authenticator.ts'
import type { Denial } from '../errors.ts'
import type { Observation, Observer } from '../observe/observation.ts'
import type { Charge } from '../quota/charge.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { Exchange } from './context.ts'
import type { Route, Rules } from './snapshot.ts'
import { isShadowed, undecided } from './steps.ts'

/** Why a tunnel is ended. */
type LeaseEnd = Extract<Observation, { type: 'tunnel_ended' }>['why']

/** As the log has it. */
const LEASE_ENDS: Readonly<Record<LeaseEnd, string>> = {
  credential: 'the credential of the tunnel holds no longer',
  blocked: 'a limit of 0 blocks the user of the tunnel',
  age: 'the tunnel is as old as edge.tunnel_max_age allows',
  quota: 'the quota refuses what the tunnel costs (tunnel_charge)',
}

/** A tunnel lasts no longer than what admitted it: its credential, its user's limits, its age and what it costs. */
export interface Leases {
  /** @returns ends the tunnel: aborted with the sentence of `LEASE_ENDS` where it may last no longer, and `close` when it has ended */
  open(exchange: Exchange): { readonly signal: AbortSignal; close(): void }
}

export interface LeaseOptions {
  /** Those in force now: a reload may take an issuer away or change limits. The route stays that of the handshake. */
  readonly rules: () => Rules
  readonly ledger: Pick<Ledger, 'charge'>
  readonly observe: Observer
}

interface Lease {
  readonly exchange: Exchange
  readonly abort: AbortController
  /** Monotonic milliseconds. */
  readonly openedAt: number
  chargedAt: number
  isBusy: boolean
}

/** What is left of the 2 s of a revocation: a gateway token may be known and remembered for 1.45 s. */
const EVERY_MS = 400

export function createLeases({ rules, ledger, observe }: LeaseOptions): Leases {
  const leases = new Set<Lease>()
  let timer: NodeJS.Timeout | undefined

  function open(exchange: Exchange) {
    const at = performance.now()
    const lease = { exchange, abort: new AbortController(), openedAt: at, chargedAt: at, isBusy: false }
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
      const why = isTooOld(lease) ? 'age' : await judge(lease)
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

  async function judge(lease: Lease): Promise<LeaseEnd | null> {
    const { req, caller, route, cost } = lease.exchange
    if (caller === null) return null
    const found = await rules().authenticator.authenticate(req.headers.authorization)
    if (!isStill(found, caller)) return 'credential'
    // What costs nothing has no limit that could end it.
    if (cost === 0 || route?.charged == null) return null
    if (isBlocked(caller.user, route, route.charged.category)) return 'blocked'
    return charge(lease)
  }

  function isBlocked(user: string, route: Route, category: string): boolean {
    const policy = rules().policy()
    const { personal, global } = policy.limitsFor(category, user)
    const isZero = [...personal, ...(global ?? [])].some(({ limit }) => limit === 0)
    return isZero && !isShadowed({ rules: rules(), route }, user, policy)
  }

  /** What it costs again, where its rule says so. A store that does not decide is asked the next time. */
  async function charge(lease: Lease): Promise<LeaseEnd | null> {
    const { exchange } = lease
    const { route, caller } = exchange
    const everyMs = route?.tunnelChargeMs ?? null
    if (everyMs === null || caller === null || route?.charged?.price.kind !== 'fixed') return null
    if (performance.now() - lease.chargedAt < everyMs) return null
    const { category, price } = route.charged
    const policy = rules().policy()
    const { user } = caller
    const charge: Charge = { user, category, cost: price.cost, limits: policy.limitsFor(category, user) }
    const decision = await ledger.charge(charge).catch(undecided)
    if ('code' in decision) return null
    lease.chargedAt += everyMs
    if (!decision.accepted) return isShadowed({ rules: rules(), route }, user, policy) ? null : 'quota'
    exchange.cost += price.cost
    observe({ type: 'tokens_charged', category, cost: price.cost })
    return null
  }

  function end(lease: Lease, why: LeaseEnd): void {
    observe({ type: 'tunnel_ended', why })
    lease.abort.abort(LEASE_ENDS[why])
  }

  return { open }
}

/** Whether a credential cannot be known at the moment says nothing about it. */
function isStill(found: Caller | Denial, { user }: Caller): boolean {
  return 'code' in found ? found.code !== 'unauthorized' : found.user === user
}
