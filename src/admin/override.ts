import type { ControlState } from '../control/state.ts'
import type { OverrideResponse } from './api.ts'
import { iso } from './http.ts'

/** What was set for a user, as it is answered; `null` for nothing. */
export function overrideOf({ overrides }: Pick<ControlState, 'overrides'>, user: string): OverrideResponse | null {
  const found = overrides.get(user)
  if (found === undefined) return null
  const { limits, bypassGlobal, shadow, reason, expiresAt } = found.value
  const until = expiresAt === null ? null : iso(expiresAt)
  return { version: found.version, limits, bypassGlobal, shadow, reason, expiresAt: until }
}
