import type { LayerResponse, OrganisationOverrideResponse, OverrideResponse } from '../contract/api.ts'
import { OVERRIDES } from '../control/forms.ts'
import { overridesIn } from '../control/override-layers.ts'
import { ledBy } from '../control/role.ts'
import { type ControlState, type Packed, storedOf } from '../control/state.ts'
import { type Call, iso } from './http.ts'
import { layersShown } from './layers-shown.ts'

/**
 * The override of a user in the form of the API; `null` for none.
 * @param at the store's time
 * @param lead the organisation of a lead who looks, and who sees no override within another organisation. Default none
 */
export function overrideOf(
  state: ControlState,
  user: string,
  at: number,
  lead: string | null = null,
): OverrideResponse | null {
  const found = state.overrides.get(user)
  if (found === undefined || (lead !== null && isOfAnother(lead, state, user, at))) return null
  const { limits, factor, periodDay, plan, within, bypassGlobal, shadow, reason, expiresAt } = found.value
  const until = expiresAt === null ? null : iso(expiresAt)
  return {
    version: found.version,
    limits,
    ...(factor !== undefined && { factor }),
    ...(periodDay !== undefined && { periodDay }),
    ...(plan !== undefined && { plan }),
    ...(within !== undefined && { within }),
    bypassGlobal,
    shadow,
    reason,
    expiresAt: until,
    ...layersOf(storedOf(state).overrides.get(user)?.value, at),
  }
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

/** The same for an organisation. */
export function organisationOverrideOf(
  state: ControlState,
  organisation: string,
  at: number,
): OrganisationOverrideResponse | null {
  const found = state.organisationOverrides.get(organisation)
  if (found === undefined) return null
  const { limits, factor, periodDay, reason, expiresAt } = found.value
  return {
    version: found.version,
    limits,
    ...(factor !== undefined && { factor }),
    ...(periodDay !== undefined && { periodDay }),
    reason,
    expiresAt: expiresAt === null ? null : iso(expiresAt),
    ...layersOf(storedOf(state).organisationOverrides.get(organisation)?.value, at),
  }
}

/** An override with an end and nothing below it needs no layers to be described. */
function layersOf(packed: Packed<unknown> | undefined, at: number): { readonly layers?: readonly LayerResponse[] } {
  const layers = packed === undefined ? [] : layersShown(OVERRIDES, packed, at)
  return layers.length > 1 ? { layers } : {}
}
