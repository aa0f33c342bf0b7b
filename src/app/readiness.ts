import type { Config } from '../config/config.ts'
import { ONE_ADDRESS } from '../gateway/one-address.ts'
import type { EventLoopDelay } from '../lib/event-loop-delay.ts'
import type { Ledger } from '../quota/ledger/ledger-contract.ts'
import type { StoreFailure } from '../quota/quota-store.ts'
import type { FirstCharge } from './first-charge.ts'
import type { FirstCredentials } from './first-credentials.ts'
import type { Runtime } from './runtime.ts'
import type { Scarcity } from './scarcity.ts'
import type { StandingFaults } from './standing-faults.ts'
import { STORE, type StoreHealth, storeReason } from './store-health.ts'

export interface Readiness {
  readonly ready: boolean
  /** Why it is not ready, or what it lacks although it is ready. */
  readonly reasons: string[]
}

/** The parts of a gateway that decide whether it is ready. */
interface Observed {
  readonly state: {
    readonly current: Runtime
    readonly mayAdmitAlone: boolean
    readonly started: boolean
    readonly draining: boolean
  }
  readonly credentials: FirstCredentials
  readonly firstCharge: FirstCharge
  readonly health: StoreHealth
  readonly ledger: Ledger
  readonly delay: EventLoopDelay
  readonly scarcity: Scarcity
  readonly faults: StandingFaults
}

const FULL = 'all connections to the upstream are taken: requests wait for one, or have waited in vain'

const NO_KEYS = 'no signing key of this issuer is known, so none of its tokens is accepted (the log says why)'

const UNHEARD =
  'this introspection provider has given no usable response yet, so nobody is let in by what only it knows (the log says why)'

const WAITING = 'waiting for what credentials are checked with, for readiness.credentials after the start at most'

const UNTRIED = `${STORE} has not taken a first charge yet`

const LATE = 'the event loop is lastingly late (edge.max_lag): requests are refused'

/** docs/operating.md has a table of states and reasons. */
export function readinessOf(plane: Observed, startup = false): Readiness {
  const { state, credentials, firstCharge } = plane
  const needs = !startup
  const failure = storeFailure(plane)
  const own = [
    ...(state.started ? [] : ['starting']),
    ...(state.draining ? ['draining'] : []),
    ...(needs && credentials.isWaiting() ? [WAITING] : []),
  ]
  const lacksCharge = needs && !firstCharge.wasTaken() && !state.mayAdmitAlone
  const ofStore = failure === null ? (lacksCharge ? [UNTRIED] : []) : [storeReason(failure)]
  return { ready: own.length === 0 && !lacksCharge, reasons: [...own, ...ofStore, ...lacking(plane)] }
}
/** What makes requests wait or fail, and other faults. Other processes may have the same ones, so this one stays ready. */
function lacking({ state, delay, scarcity, faults }: Observed): string[] {
  const { forwarder, rules, authenticator } = state.current
  return [
    ...authenticator.withoutKeys().map((issuer) => `${issuer}: ${NO_KEYS}`),
    ...authenticator.unheard().map((provider) => `${provider}: ${UNHEARD}`),
    ...(forwarder.isFull() ? [FULL] : []),
    ...(delay.lasting() > rules.maxLagMs ? [LATE] : []),
    ...scarcity.reasons(),
    ...faults.reasons(),
  ]
}

/** Adds what only administrators need to know. */
export function noticed({ ready, reasons }: Readiness, oneAddress: string | null): Readiness {
  return { ready, reasons: oneAddress === null ? reasons : [...reasons, `${oneAddress}: ${ONE_ADDRESS}`] }
}

export function storeFailure({ health, ledger }: Pick<Observed, 'health' | 'ledger'>): StoreFailure | null {
  return health.failure() ?? ledger.outage()
}

/** A gateway with a share for outages can serve requests without the store. */
export function admitsAlone({ quota }: Config): boolean {
  return [...quota.storeOutage.values()].some((share) => share > 0)
}
