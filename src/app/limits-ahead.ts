import { OVERRIDES, SETTINGS } from '../control/forms.ts'
import { inForce, NOTHING_CHANGED } from '../control/in-force.ts'
import { stackOf } from '../control/layers.ts'
import { asOverrides } from '../control/overrides.ts'
import { type FileSettings, resolve } from '../control/settings.ts'
import type { StoredControl } from '../control/state.ts'
import type { Charge, Decision, Limits } from '../quota/charge.ts'
import { createPolicy, type Payer, type Policy, type QuotaSettings } from '../quota/policy.ts'
import { violations } from '../quota/refusal.ts'
import type { IsKnown } from '../quota/reserve.ts'
import { type Limit, NOT_RUNNING, type Usage, usageAt } from '../quota/window.ts'

/**
 * What limits become by ends and beginnings that are known already. Whoever is refused by a limit that ends before its window does
 * is told when it ends.
 */

export interface AheadOptions {
  readonly file: FileSettings
  /** As the policy in force has them: with the window of the books, if days are kept. */
  readonly completed: (settings: QuotaSettings) => QuotaSettings
  readonly stored: StoredControl
  /** Of mode `adaptive`: nobody knows what it will be. */
  readonly factor: number
  readonly isKnown: IsKnown | undefined
  /** What was worked out of the same state before, by moment and by the override of whom. */
  readonly remembered: Map<string, Then>
}

/** What will be in force at a moment. */
interface Then {
  readonly policy: Policy
  readonly shadow: boolean
}

/** Many users with overrides that end may be refused at once. */
const MOST_REMEMBERED = 100

/** Moments that are looked at for one refusal, the next ones. */
const MOST_MOMENTS = 8

/**
 * When a caller that was refused has room without waiting for the windows, in milliseconds since the epoch, since limits or an
 * override change by themselves; `null` if waiting for the windows is right, or the only hope. What will be in force is worked out
 * once for each moment, and again for a caller with an override.
 */
export function freeFrom(options: AheadOptions, payer: Payer, charge: Charge, decision: Decision): number | null {
  if (decision.limits !== undefined) return null
  const moments = momentsAhead(options.stored, payer, decision.at)
  if (moments.length === 0) return null
  const [worst] = violations(charge, decision)
  if (worst === undefined) return null
  const isNever = violations(charge, decision).some(({ limit }) => limit.limit < charge.cost)
  const horizon = isNever ? Number.POSITIVE_INFINITY : worst.resetAt
  const ahead = moments.filter((moment) => moment < horizon).slice(0, MOST_MOMENTS)
  return ahead.find((moment) => hasRoomAt(options, payer, { charge, decision }, moment)) ?? null
}

const NONE: readonly number[] = []

/** When something begins or ends that may concern the caller, the next one first. */
function momentsAhead(
  { settings, overrides, organisationOverrides }: StoredControl,
  payer: Payer,
  at: number,
): readonly number[] {
  const ofUser = overrides.get(payer.user)?.value
  const ofTheirs = payer.organisation === null ? undefined : organisationOverrides.get(payer.organisation)?.value
  if (settings.value.layers === undefined && ofUser === undefined && ofTheirs === undefined) return NONE
  const stacks = [
    ...(settings.value.layers === undefined ? [] : [stackOf(SETTINGS, settings.value)]),
    ...[ofUser, ofTheirs].flatMap((packed) => (OVERRIDES.isForm(packed) ? [stackOf(OVERRIDES, packed as object)] : [])),
  ]
  const times = stacks.flatMap(({ layers }) => layers.flatMap(({ from, until }) => [from, until ?? at]))
  return [...new Set(times.filter((time) => time > at))].sort((a, b) => a - b)
}

interface Refused {
  readonly charge: Charge
  readonly decision: Decision
}

function hasRoomAt(options: AheadOptions, payer: Payer, { charge, decision }: Refused, moment: number): boolean {
  const { policy, shadow } = thenFor(options, payer, moment)
  if (shadow || policy.isShadowed(payer.user)) return true
  const then = policy.limitsFor(charge.category, payer)
  const fits = (scope: 'personal' | 'organisation' | 'global') =>
    (then[scope] ?? []).every((limit) =>
      hasRoom(limit, usageIn(charge.limits, decision, scope, limit), charge.cost, moment),
    )
  return fits('personal') && fits('organisation') && fits('global')
}

function thenFor(options: AheadOptions, payer: Payer, moment: number): Then {
  const { file, completed, stored, factor, isKnown, remembered } = options
  // Of all overrides these two matter: there may be 100,000.
  const overrides = only(stored.overrides, payer.user)
  const organisationOverrides = only(stored.organisationOverrides, payer.organisation)
  const key = JSON.stringify([moment, ...overrides.keys(), null, ...organisationOverrides.keys()])
  const known = remembered.get(key)
  if (known !== undefined) return known
  const { state } = inForce({ ...stored, overrides, organisationOverrides }, NOTHING_CHANGED, moment)
  const { settings, shadow } = resolve(file, state.settings.value)
  const made = { policy: createPolicy(completed(settings), factor, asOverrides(state), isKnown), shadow }
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  remembered.set(key, made)
  return made
}

function only<T>(all: ReadonlyMap<string, T>, id: string | null): ReadonlyMap<string, T> {
  const found = id === null ? undefined : all.get(id)
  return found === undefined ? new Map() : new Map([[id as string, found]])
}

/** `null` for a window that the charge was not held against: nobody has asked what is used in it. */
function usageIn(
  limits: Limits,
  decision: Decision,
  scope: 'personal' | 'organisation' | 'global',
  { window }: Limit,
): Usage | null {
  const i = (limits[scope] ?? []).findIndex((limit) => limit.window.seconds === window.seconds)
  return i < 0 ? null : (decision[scope]?.[i] ?? NOT_RUNNING)
}

function hasRoom({ window, limit }: Limit, usage: Usage | null, cost: number, at: number): boolean {
  return usage !== null && usageAt(usage, window, at).used + cost <= limit
}
