import type { LayerResponse, OrganisationOverrideResponse, OverrideResponse } from '../contract/api.ts'
import { OVERRIDES } from '../control/forms.ts'
import { overridesIn } from '../control/override-layers.ts'
import { ledBy } from '../control/role.ts'
import {
  type ControlState,
  type OrganisationOverride,
  type Packed,
  storedOf,
  type UserOverride,
  type Versioned,
} from '../control/state.ts'
import { type Call, isoOrNull } from './http.ts'
import { layersShown } from './layers-shown.ts'

/**
 * The override of a user in the form of the API; `null` for none.
 * @param at the store's time
 * @param lead the organisation of the caller if the caller is a lead, from whom overrides within other organisations are hidden. Default none
 */
export function overrideOf(
  state: ControlState,
  user: string,
  at: number,
  lead: string | null = null,
): OverrideResponse | null {
  const found = state.overrides.get(user)
  if (found === undefined || (lead !== null && isOfAnother(lead, state, user, at))) return null
  return shownOf(found, storedOf(state).overrides.get(user)?.value, at)
}

/** The organisation of the caller who is a lead; `null` for any other caller. */
export function ledByCaller({ identity }: Pick<Call, 'identity'>): string | null {
  return identity === null ? null : ledBy(identity.role)
}

function isOfAnother(lead: string, state: ControlState, user: string, at: number): boolean {
  return overridesIn(storedOf(state).overrides.get(user)?.value).some(
    ({ within = lead, expiresAt }) => within !== lead && (expiresAt === null || expiresAt > at),
  )
}

/** The override of an organisation in the form of the API; `null` for none. */
export function organisationOverrideOf(
  state: ControlState,
  organisation: string,
  at: number,
): OrganisationOverrideResponse | null {
  const found = state.organisationOverrides.get(organisation)
  if (found === undefined) return null
  return shownOf(found, storedOf(state).organisationOverrides.get(organisation)?.value, at)
}

const SHOWN = ['limits', 'factor', 'periodDay', 'plan', 'within', 'bypassGlobal', 'shadow', 'reason'] as const

/** The shown form of an override: the values that it sets. */
function shownOf<T extends OrganisationOverride>(
  { version, value }: Versioned<T>,
  packed: Packed<unknown> | undefined,
  at: number,
) {
  const of: Partial<UserOverride> = value
  const set = Object.fromEntries(SHOWN.flatMap((name) => (of[name] === undefined ? [] : [[name, of[name]]])))
  return {
    version,
    ...(set as Omit<T, 'beneath' | 'expiresAt'>),
    expiresAt: isoOrNull(value.expiresAt),
    ...layersOf(packed, at),
  }
}

/** An override with an end and nothing below it needs no layers to be described. */
function layersOf(packed: Packed<unknown> | undefined, at: number): { readonly layers?: readonly LayerResponse[] } {
  const layers = packed === undefined ? [] : layersShown(OVERRIDES, packed, at)
  return layers.length > 1 ? { layers } : {}
}
