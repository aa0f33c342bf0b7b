import { randomBytes } from 'node:crypto'
import { sameJson } from '../lib/json.ts'
import { OVERRIDES } from './forms.ts'
import { current, isLive, MOST_LAYERS, packedOf, type StackLayer, set, stackOf } from './layers.ts'
import type { Problem } from './problems.ts'
import type { OrganisationOverride, Packed, UserOverride } from './state.ts'

/** All overrides of one user or organisation, one over the other. */

const NONE: readonly never[] = []

/** The permanent one first, then those with an end, the oldest first. */
export function overridesIn<T extends UserOverride | OrganisationOverride>(
  packed: Packed<T> | undefined,
): readonly T[] {
  if (packed === undefined) return NONE
  if (!('layers' in packed) || packed.layers === undefined) return [packed as T]
  const { permanent, layers } = stackOf(OVERRIDES, packed)
  return [...permanent, ...layers.flatMap(({ leaves }) => leaves)].map(([, value]) => value as T)
}

/**
 * What is stored where these overrides, and no others, are to be: the very value that is stored if they are those already.
 * @param all one without an end at most; those with one in the order in which they lie above each other
 * @param at the store's time
 */
export function withOverrides<T extends UserOverride | OrganisationOverride>(
  stored: Packed<T> | undefined,
  all: readonly T[],
  who: string,
  at: number,
): Packed<T> {
  const [first] = all
  if (stored !== undefined && sameJson(overridesIn(stored), inOrder(all))) return stored
  if (first !== undefined && all.length === 1) return first
  const known = current(stackOf(OVERRIDES, stored ?? null), at).layers
  let last = 0
  const layers = all.flatMap((value): StackLayer[] => {
    const { expiresAt: until, reason: why } = value
    if (until === null) return []
    const old = known.find(({ leaves: [leaf] }) => sameJson(leaf?.[1], value))
    const about = old ?? { id: randomBytes(6).toString('hex'), from: at, until, begun: true as const, who, why }
    last = Math.max(last, about.from)
    return [{ ...about, from: last, leaves: OVERRIDES.leavesOf(value) }]
  })
  const permanent = all.filter(({ expiresAt }) => expiresAt === null).flatMap(OVERRIDES.leavesOf)
  return packedOf(OVERRIDES, { permanent, layers }) as Packed<T>
}

function inOrder<T extends UserOverride | OrganisationOverride>(all: readonly T[]): readonly T[] {
  return [...all.filter(({ expiresAt }) => expiresAt === null), ...all.filter(({ expiresAt }) => expiresAt !== null)]
}

/** One without an end takes the place of all that was set before; one with an end lies above it. */
export function withOverride<T extends Pick<UserOverride, 'reason' | 'expiresAt'>>(
  before: Packed<T> | null,
  override: T,
  who: string,
  at: number,
): Packed<T> {
  const { expiresAt: until, reason: why } = override
  const stack = current(stackOf(OVERRIDES, before), at)
  const top = stack.layers.findLast((layer) => isLive(layer, at))
  if (before !== null && until !== null && sameJson(top?.leaves[0]?.[1], override)) return before
  const isAlone = until !== null && stack.permanent.length === 0 && stack.layers.length === 0
  if (isAlone) return override
  const id = randomBytes(6).toString('hex')
  const leaves = OVERRIDES.leavesOf(override)
  return packedOf(OVERRIDES, set(stack, { id, from: null, until, leaves, who, why }, at)) as Packed<T>
}

/**
 * What is stored once these overrides were added to what there is: the very value that is stored if they are in it already. Where one
 * of them has no end, they are all that there is.
 */
export function withAdded<T extends UserOverride | OrganisationOverride>(
  stored: Packed<T> | undefined,
  all: readonly T[],
  who: string,
  at: number,
): Packed<T> {
  if (stored === undefined || all.some(({ expiresAt }) => expiresAt === null))
    return withOverrides(stored, all, who, at)
  const known = overridesIn(stored)
  const added = all.filter((one) => !known.some((other) => sameJson(other, one)))
  return added.reduce((packed, one) => withOverride<T>(packed, one, who, at), stored)
}

/** Whether more overrides with an end lie above each other than may. */
export function hasTooMany(packed: Packed<unknown> | null): boolean {
  return packed !== null && stackOf(OVERRIDES, packed).layers.length > MOST_LAYERS
}

export const TOO_MANY: Problem = {
  path: 'expiresAt',
  msg: `${MOST_LAYERS} overrides with an end lie above each other already: DELETE them, or leave the end out`,
}
