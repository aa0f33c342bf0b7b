import { type Counter, isInUse } from '../quota/counter.ts'
import type { Payer, Policy } from '../quota/policy.ts'
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

/** Some of them, with what they have used. */
export interface Some {
  readonly at: number
  readonly owners: readonly { readonly id: string; readonly counters: Counters }[]
}

/** Whoever has used something or has an override, in steps. A scan may come by one without an override twice. */
export async function* inSteps(
  { windows, signal }: InStepsOptions,
  overridden: Iterable<string>,
  scan: (cursor: string | null) => Promise<Some & { readonly next: string | null }>,
): AsyncGenerator<Some> {
  const all = new Set(overridden)
  const unseen = new Set(all)
  let [at, cursor]: [number, string | null] = [0, null]
  do {
    signal?.throwIfAborted()
    const step = await scan(cursor)
    const owners = step.owners.filter(({ id, counters }) =>
      all.has(id) ? unseen.delete(id) : isInUse(counters, windows, step.at),
    )
    yield { at: step.at, owners }
    at = step.at
    cursor = step.next
    await breath()
  } while (cursor !== null)
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
