import type { Observation, Settled } from '../../src/observe/observation.ts'

const START = Date.UTC(2026, 7, 6, 15)

/** What became of a charge for 15 `write` tokens, changed in places. */
export interface Changes extends Partial<Omit<Settled, 'type' | 'charge' | 'decision' | 'caller' | 'plan'>> {
  readonly user?: string
  readonly category?: string
  /** Whose limit it is, too. Default none. */
  readonly organisation?: string | null
  readonly cost?: number
  /** The store's time of the decision; `null` if it did not decide. */
  readonly at?: number | null
  /** Its name; `null` for a configuration without plans. */
  readonly plan?: string | null
}

export function settled(changes: Changes = {}): Settled {
  const {
    user = 'alice',
    organisation = null,
    category = 'write',
    cost = 15,
    at = START,
    plan = null,
    ...rest
  } = changes
  const { kind = 'charged' } = rest
  return {
    type: 'settled',
    kind,
    tokens: kind === 'charged' ? cost : 0,
    charge: { user, organisation, category, cost, limits: { personal: [], organisation: null, global: null } },
    decision: at === null ? null : { accepted: kind === 'charged', at, personal: [], organisation: null, global: null },
    caller: { user, organisation, plan },
    isVerified: true,
    plan: plan === null ? null : { name: plan, from: 'credential', unknown: null },
    route: 'POST /v1/music/upsert',
    refusedBy: null,
    ...rest,
  }
}

/** Whether it says that tokens of a request or of a tunnel are taken. */
export function isCharged(seen: Observation): seen is Settled {
  return seen.type === 'settled' && seen.kind === 'charged'
}

/** Whether it says that tokens are given back. */
export function isGivenBack(seen: Observation): seen is Settled {
  return seen.type === 'settled' && seen.tokens < 0
}

/** By how much all of them together changed what the store counts. */
export function tokensIn(observations: readonly Observation[]): number {
  return observations.reduce((sum, seen) => sum + (seen.type === 'settled' ? seen.tokens : 0), 0)
}
