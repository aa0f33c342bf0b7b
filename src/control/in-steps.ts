import { breath, everyStep } from '../lib/steps.ts'
import { type Counter, isInUse } from '../quota/counter.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import type { UsedStep } from '../quota/quota-store.ts'
import type { Window } from '../quota/window.ts'

/** All users or organisations that may be limited, with their usage. */

/** By category. */
export type Counters = ReadonlyMap<string, Counter>

export interface InStepsOptions {
  /** The windows that may limit. An owner for whom none of them runs is looked at only if the owner has an override. */
  readonly windows: readonly Window[]
  /** Ends the search between two steps, if nobody waits for it. */
  readonly signal?: AbortSignal
}

/** How many overrides one step looks at. */
const AT_ONCE = 200

/** All owners with usage or an override, in steps. An owner without an override may come twice. */
export async function* inSteps(
  { windows, signal }: InStepsOptions,
  overridden: Iterable<string>,
  scan: (cursor: string | null) => Promise<UsedStep>,
): AsyncGenerator<Omit<UsedStep, 'next'>> {
  const all = new Set(overridden)
  const unseen = new Set(all)
  let at = 0
  for await (const step of everyStep(scan, signal)) {
    const owners = step.owners.filter(({ id, counters }) =>
      all.has(id) ? unseen.delete(id) : isInUse(counters, windows, step.at),
    )
    yield { at: step.at, owners }
    at = step.at
  }
  const left = [...unseen]
  for (let i = 0; i < left.length; i += AT_ONCE) {
    signal?.throwIfAborted()
    yield { at, owners: left.slice(i, i + AT_ONCE).map((id) => ({ id, counters: new Map() })) }
    await breath()
  }
}

/** The plan of a user, which an override may replace. */
export function planIn(policy: Policy, payer: Payer): string | null {
  return policy.planOf(payer)?.name ?? payer.plan
}
