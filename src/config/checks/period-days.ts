import { isMonth } from '../../quota/period-days.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding, Path } from '../problems.ts'
import { windowsOf } from '../window-lengths.ts'

const LISTS = ['jwt', 'introspection'] as const

/** First days of months need windows of months, and every credential of a user should name the same day. */
export function checkPeriodDays(config: PartialConfig): Finding[] {
  const { quota, auth } = config
  const named = LISTS.flatMap((list) =>
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
  return first === undefined ? [] : silentWays(first, config).map((way) => twoDays(way, exampleOf(config.routes)))
}

const WITHOUT_MONTH =
  'is for a window of months, and there is none: add one to quota.windows, like { calendar: month, zone: Asia/Shanghai }, or remove this'

/** A way to identify callers that names no day, beside one that does. */
interface SilentWay {
  readonly path: Path
  readonly why: string
  /** The header field of a request that identifies its caller in this way. */
  readonly field: string
  readonly orElse: string
}

function silentWays(first: Path, { auth }: PartialConfig): SilentWay[] {
  const ways: SilentWay[] = []
  if (auth.gateway_tokens !== false) {
    const orElse = 'set auth.gateway_tokens to false'
    ways.push({ path: first, why: 'an access key has no claims', field: 'Authorization: Bearer gw_…', orElse })
  }
  const whose = { jwt: 'tokens of this issuer name', introspection: 'what this provider says names' }
  for (const list of LISTS) {
    for (const [i, { period_day_claim: claim }] of auth[list].entries()) {
      if (claim !== undefined) continue
      const at = {
        path: ['auth', list, i],
        field: 'Authorization: Bearer …',
        orElse: 'write period_day_claim here, too',
      }
      ways.push({ ...at, why: `${whose[list]} no day` })
    }
  }
  if (auth.trusted !== undefined) {
    const why = 'a trusted proxy names no day'
    ways.push({
      path: ['auth', 'trusted'],
      why,
      field: `${auth.trusted.user}: alice`,
      orElse: 'let it pass on the token',
    })
  }
  return ways
}

/** A user who can use both ways can choose between two days, and begin a new month each time. */
function twoDays({ path, why, field, orElse }: SilentWay, example: string): Finding {
  const message = `${why}, so curl -H '${field}' ${example} counts in months from the day of the plan or of the window, whatever day the claim of another credential gave its user: give such users their day by an override (periodDay) or a plan (period_day), or ${orElse}`
  return { path, severity: 'warning', message }
}

function exampleOf(routes: PartialConfig['routes']): string {
  const charged = routes.find((route) => route.public !== true && route.match !== undefined)
  const path = charged?.match?.match.replace(/^\S+ +/, '') ?? '/'
  return path.replaceAll(/:[^/]+|\*$/g, '1')
}
