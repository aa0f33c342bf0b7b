import { checkAlerts } from './checks/alerts.ts'
import { checkAuth } from './checks/auth.ts'
import { checkCallers } from './checks/callers.ts'
import { checkCors } from './checks/cors.ts'
import { checkCosts } from './checks/costs.ts'
import { checkDecisions } from './checks/decisions.ts'
import { checkExempt } from './checks/exempt.ts'
import { checkHidden } from './checks/hidden.ts'
import { Lookup } from './checks/lookup.ts'
import { checkNetwork } from './checks/network.ts'
import { checkGlobalLimits, checkUserClaims } from './checks/newcomers.ts'
import { checkPeriodDays } from './checks/period-days.ts'
import { checkPlans } from './checks/plans.ts'
import { checkQuota } from './checks/quota.ts'
import { checkReference } from './checks/reference.ts'
import { checkReserve } from './checks/reserve.ts'
import { checkRetryAfter } from './checks/retry-after.ts'
import { checkRoutes } from './checks/routes.ts'
import { checkSpellings } from './checks/spellings.ts'
import { checkStore } from './checks/store.ts'
import { checkTelemetry } from './checks/telemetry.ts'
import { checkUnwritten } from './checks/unwritten.ts'
import { checkUsage } from './checks/usage.ts'
import type { PartialConfig } from './partial.ts'
import type { Finding, Path } from './problems.ts'

/** The rules between keys. Each looks at the keys that exist, so that all problems are reported at once. */
export function checkAll(parsed: PartialConfig, lineOf: (path: Path) => number | null): Finding[] {
  const ofQuota = checkQuota(parsed, lineOf)
  const ofRoutes = checkRoutes(parsed, lineOf)
  return [
    ...checkNetwork(parsed),
    ...checkDecisions(parsed),
    ...checkStore(parsed),
    ...checkAuth(parsed),
    ...checkCallers(parsed),
    ...checkCors(parsed),
    ...checkUserClaims(parsed),
    ...ofQuota,
    ...checkUnwritten(parsed, lineOf),
    ...checkPlans(parsed),
    ...checkPeriodDays(parsed),
    ...checkExempt(parsed),
    ...checkReserve(parsed),
    ...(ofQuota.every(isWarning) ? checkUsage(parsed, lineOf) : []),
    ...ofRoutes,
    ...checkAlerts(parsed),
    ...checkReference(parsed, lineOf),
    ...checkTelemetry(parsed),
    ...('windows' in parsed.quota && ofQuota.every(isWarning)
      ? [...checkCosts(parsed), ...checkGlobalLimits(parsed), ...checkRetryAfter(parsed)]
      : []),
    ...(ofRoutes.every(isWarning) ? checkTogether(parsed, lineOf) : []),
  ]
}

/** The checks of all rules together. Only for a route map without problems. */
function checkTogether(parsed: PartialConfig, lineOf: (path: Path) => number | null): Finding[] {
  const lookup = new Lookup(parsed)
  return [
    ...checkHidden(lookup, lineOf, parsed.cors === undefined && parsed.auth.anonymous === undefined),
    ...checkSpellings(parsed, lookup, lineOf),
  ]
}

function isWarning({ severity }: Finding): boolean {
  return severity === 'warning'
}
