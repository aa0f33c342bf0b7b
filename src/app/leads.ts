import type { Config } from '../config/config.ts'
import { ledBy } from '../control/role.ts'

/** Whether anybody may lead an organisation. */
export function hasLeads({ tokens, oidc, trusted }: Config['admin']): boolean {
  const roles = [
    ...tokens.map(({ role }) => role),
    ...(oidc?.roles.values.values() ?? []),
    ...(trusted?.roles.values() ?? []),
  ]
  return roles.some((role) => ledBy(role) !== null)
}
