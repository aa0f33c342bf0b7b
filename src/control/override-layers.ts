import { randomBytes } from 'node:crypto'
import { sameJson } from '../lib/json.ts'
import { OVERRIDES } from './forms.ts'
import { current, isLive, MOST_LAYERS, packedOf, type StackLayer, set, stackOf } from './layers.ts'
import type { Problem } from './problems.ts'
import type { OrganisationOverride, Packed, UserOverride } from './state.ts'

/** The layers of overrides of one user or organisation. */

const NONE: readonly never[] = []

/** The permanent override first, then those with an end, oldest first. */
export function overridesIn<T extends UserOverride | OrganisationOverride>(
  packed: Packed<T> | undefined,
): readonly T[] {
  if (packed === undefined) return NONE
  if (!('layers' in packed) || packed.layers === undefined) return [packed as T]
  const { permanent, layers } = stackOf(OVERRIDES, packed)
  return [...permanent, ...layers.flatMap(({ leaves }) => leaves)].map(([, value]) => value as T)
}

/**
 * The stored form of exactly these overrides. It is the stored object itself if that contains exactly these already.
 * @param all at most one without an end, and those with an end in the order of their layers
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

/** An override without an end replaces everything that was set before. One with an end lies above it. */
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
 * The stored form after these overrides were added. It is the stored object itself if that contains them already. If one of them has no
 * end, they replace everything.
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

/** Whether there are too many layers of overrides with an end. */
export function hasTooMany(packed: Packed<unknown> | null): boolean {
  return packed !== null && stackOf(OVERRIDES, packed).layers.length > MOST_LAYERS
}

export const TOO_MANY: Problem = {
  path: 'expiresAt',
  msg: `${MOST_LAYERS} overrides with an end lie above each other already: DELETE them, or leave the end out`,
}
