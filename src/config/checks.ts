import { checkAuth } from './checks/auth.ts'
import { checkCosts } from './checks/costs.ts'
import { checkNetwork } from './checks/network.ts'
import { checkQuota } from './checks/quota.ts'
import { checkReference } from './checks/reference.ts'
import { checkRoutes } from './checks/routes.ts'
import type { Finding, Path } from './problems.ts'
import type { Salvage } from './salvage.ts'

/** The rules between keys. Each looks at what is there, so that all problems are told at once. */
export function checkAll(parsed: Salvage, lineOf: (path: Path) => number | null): Finding[] {
  const ofQuota = checkQuota(parsed, lineOf)
  return [
    ...checkNetwork(parsed),
    ...checkAuth(parsed),
    ...ofQuota,
    ...checkRoutes(parsed, lineOf),
    ...checkReference(parsed, lineOf),
    ...(ofQuota.every(({ severity }) => severity === 'warning') ? checkCosts(parsed) : []),
  ]
}
