import type { ControlState } from '../control/state.ts'
import type { OrganisationOverrideResponse, OverrideResponse } from './api.ts'
import { iso } from './http.ts'

/** The override of a user as the API shows it; `null` for none. */
export function overrideOf({ overrides }: Pick<ControlState, 'overrides'>, user: string): OverrideResponse | null {
  const found = overrides.get(user)
  if (found === undefined) return null
  const { limits, plan, bypassGlobal, shadow, reason, expiresAt } = found.value
  const until = expiresAt === null ? null : iso(expiresAt)
  return {
    version: found.version,
    limits,
    ...(plan !== undefined && { plan }),
    bypassGlobal,
    shadow,
    reason,
    expiresAt: until,
  }
}

/** The same of an organisation. */
export function organisationOverrideOf(
  { organisationOverrides }: Pick<ControlState, 'organisationOverrides'>,
  organisation: string,
): OrganisationOverrideResponse | null {
  const found = organisationOverrides.get(organisation)
  if (found === undefined) return null
  const { limits, reason, expiresAt } = found.value
  return { version: found.version, limits, reason, expiresAt: expiresAt === null ? null : iso(expiresAt) }
}
