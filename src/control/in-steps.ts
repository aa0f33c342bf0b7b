import { type Counter, isInUse } from '../quota/counter.ts'
import type { Payer, Policy } from '../quota/policy.ts'
import type { UsedStep } from '../quota/quota-store.ts'
import type { Window } from '../quota/window.ts'

/** All users, or all organisations, who may be limited, with what they have used. */

/** By category. */
export type Counters = ReadonlyMap<string, Counter>

export interface InStepsOptions {
  /** The windows that may limit: whoever has nothing in one of these that runs is not looked at, but for an override. */
  readonly windows: readonly Window[]
  /** Ends it between two steps, for whoever waits no more. */
  readonly signal?: AbortSignal
}

/** Whose override is looked at in one step. */
const AT_ONCE = 200

/** All steps of a scan, with the event loop and the store free between them. @throws as the scan, or the reason of the signal */
export async function* everyStep<S extends { readonly next: string | null }>(
  scan: (cursor: string | null) => Promise<S>,
  signal?: AbortSignal,
): AsyncGenerator<S, void> {
  for (let cursor: string | null = null; ; ) {
    signal?.throwIfAborted()
    const step: S = await scan(cursor)
    yield step
    cursor = step.next
    await breath()
    if (cursor === null) return
  }
}

/** Whoever has used something or has an override, in steps. A scan may come by one without an override twice. */
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

/** The plan of a user: an override of the user may name another one than the credential does. */
export function planIn(policy: Policy, payer: Payer): string | null {
  return policy.planOf(payer)?.name ?? payer.plan
}

function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
