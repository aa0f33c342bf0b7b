import type { Ahead, Then } from '../quota/ahead.ts'
import { createPolicy, type Payer, type QuotaSettings } from '../quota/policy.ts'
import type { IsKnown } from '../quota/reserve.ts'
import { OVERRIDES, SETTINGS } from './forms.ts'
import { inForce, NOTHING_CHANGED } from './in-force.ts'
import { stackOf } from './layers.ts'
import { asOverrides } from './overrides.ts'
import { type FileSettings, resolve } from './settings.ts'
import type { StoredControl } from './state.ts'

export interface AheadOptions {
  readonly file: FileSettings
  /** Completes settings as the policy in force does, for example with the books. By default they stay unchanged. */
  readonly completed?: (settings: QuotaSettings) => QuotaSettings
  readonly stored: StoredControl
  /** The factor of mode `adaptive`, whose future is unknown. */
  readonly factor: number
  readonly isKnown?: IsKnown | undefined
  /** Whether the mode in force is `adaptive`. */
  readonly isAdaptive: boolean
}

/** How many moments are remembered. Many users with ending overrides may be refused at once. */
const MOST_REMEMBERED = 100

/** Future limits that are stored already. They are calculated once for a moment, and again for a caller with an override. */
export function limitsAhead(options: AheadOptions): Ahead {
  /** By moment, and by the owners of overrides. */
  const remembered = new Map<string, Then>()
  return {
    canRise: options.isAdaptive,
    moments: (payer, at) => momentsAhead(options.stored, payer, at),
    at(payer, moment) {
      const { file, completed = (settings) => settings, stored, factor, isKnown } = options
      // Only these two overrides matter, out of perhaps 100,000.
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
    },
  }
}

const NONE: readonly number[] = []

/** When something begins or ends that may affect the caller, the next moment first. */
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
    ...[ofUser, ofTheirs].flatMap((packed) => (packed === undefined ? [] : [stackOf(OVERRIDES, packed)])),
  ]
  const times = stacks.flatMap(({ layers }) => layers.flatMap(({ from, until }) => [from, until ?? at]))
  return [...new Set(times.filter((time) => time > at))].sort((a, b) => a - b)
}

function only<T>(all: ReadonlyMap<string, T>, id: string | null): ReadonlyMap<string, T> {
  const found = id === null ? undefined : all.get(id)
  return found === undefined ? new Map() : new Map([[id as string, found]])
}
