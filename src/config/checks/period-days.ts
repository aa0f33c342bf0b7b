import { isMonth } from '../../quota/period-days.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { windowsOf } from '../window-lengths.ts'

/** The days with which months begin are for windows of months, and whoever names one names it with each credential. */
export function checkPeriodDays({ quota, auth, routes }: PartialConfig): Finding[] {
  const named = (['jwt', 'introspection'] as const).flatMap((list) =>
    auth[list].flatMap(({ period_day_claim: claim }, i): Path[] =>
      claim === undefined ? [] : [['auth', list, i, 'period_day_claim']],
    ),
  )
  const ofPlans = [...(quota.plans ?? [])].flatMap(([plan, { periodDay }]): Path[] =>
    periodDay === undefined ? [] : [['quota', 'plans', plan, 'period_day']],
  )
  if ('windows' in quota && !windowsOf(quota).some(isMonth))
    return [...ofPlans, ...named].map((path) => ({ path, message: WITHOUT_MONTH }))
  const [first] = named
  return first === undefined || auth.gateway_tokens === false ? [] : [ofKeys(first, exampleOf(routes))]
}

const WITHOUT_MONTH =
  'is for a window of months, and there is none: add one to quota.windows, like { calendar: month, zone: Asia/Shanghai }, or remove this'

/** A user who has both chooses between two days, and begins a new month with each. */
function ofKeys(path: Path, example: string): Finding {
  const message = `an access key has no claims, so curl -H 'Authorization: Bearer gw_…' ${example} counts in months from the day of the plan or of the window, whatever day the claim gave its user: give users of keys their day by an override (periodDay) or a plan (period_day), or set auth.gateway_tokens to false`
  return { path, severity: 'warning', message }
}

function exampleOf(routes: PartialConfig['routes']): string {
  const charged = routes.find((route) => route.public !== true && route.match !== undefined)
  const path = charged?.match?.match.replace(/^\S+ +/, '') ?? '/'
  return path.replaceAll(/:[^/]+|\*$/g, '1')
}
