import { planRulesOf } from '../app/plan-rules.ts'
import type { Config } from '../config/config.ts'
import { type LoadResult, parseConfig } from '../config/load.ts'
import { formatProblems } from '../config/problems.ts'
import { counted } from '../lib/counted.ts'
import { MAX_LIMIT } from '../quota/policy.ts'
import type { Journal } from '../replay/journal.ts'
import type { Logs } from '../replay/read-logs.ts'
import { replayTo } from '../replay/replay.ts'
import { createTariffs } from '../replay/tariffs.ts'
import type { Callers, Draft, SuggestedRoute } from './draft.ts'
import { drawnLimits, sameLimits } from './drawn-limits.ts'
import { RouteDurations } from './durations.ts'
import { failedRules } from './failed-rules.ts'
import { type Span, textOf } from './file.ts'
import type { Margin } from './limits.ts'
import { Peaks } from './peaks.ts'
import { rulesOf, type SuggestedRule } from './route-map.ts'
import { LEFT_OUT, type Survey, surveyOf } from './survey.ts'
import { Verdict } from './verdict.ts'

export interface SuggestOptions extends Margin {
  /** URL of the service; `null` leaves a placeholder. */
  readonly upstream: string | null
  /** If one place of a path has more names than this, they become values. */
  readonly names: number
  /** The field in which the credentials of the logs came, as a trial knows it; `null` if it is unknown. */
  readonly key: string | null
}

/** The most requests that count. They bound the memory, because each may have a user and a path of its own. */
export const MOST_REQUESTS = 3_000_000

/**
 * A commented configuration that fits the requests of logs. It has no problem, it warns only of requests that its shadow lets through, and
 * a replay of the logs under it refuses as many as its comments state.
 * @throws Error if the logs have no request that the gateway would charge
 */
export async function suggestFrom(logs: Logs, { upstream, names, key, ...margin }: SuggestOptions): Promise<string> {
  const { journal } = logs
  const survey = surveyOf(journal)
  if (survey.requests === 0) throw new Error(noRequest(survey))
  const rules = rulesOf(survey.tree, names)
  const base = { upstream, callers: callersOf(survey, rules), credentials: survey.credentials, key }
  const routes = await pricedRoutes(journal, rules, base)

  const peaks = new Peaks()
  const unlimited: Draft = { ...base, routes, limits: sameLimits(routes, MAX_LIMIT) }
  await replayTo(understood(textOf(unlimited)), journal, peaks)
  if (peaks.isEmpty) throw new Error('the logs name no callers, neither users nor addresses: name others')
  const span = spanOf(journal)
  const draft: Draft = { ...base, routes, limits: drawnLimits({ routes, peaks, spanMs: span.to - span.from, margin }) }
  const verdict = new Verdict()
  await replayTo(understood(textOf(draft)), journal, verdict)
  const failed = failedRules(journal, rules, names)
  const text = textOf(draft, { logs, span, margin, leftOut: survey.leftOut, failed, verdict })
  insistOnGood(parseConfig(text, 'tollgate.yaml', {}))
  return text
}

function noRequest({ leftOut, failed }: Survey): string {
  const reasons = [...leftOut].map(
    ([why, { count }]) => `${counted(count, 'request is', 'requests are')} ${LEFT_OUT[why]}`,
  )
  if (failed > 0) reasons.push(`${counted(failed, 'request', 'requests')} got 4xx or 5xx`)
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`
  return `the logs have no request for a route map${why}: name others, or their --format`
}

function callersOf({ named }: Survey, rules: readonly SuggestedRule[]): Callers {
  if (named === 0) return 'addresses'
  return rules.some(({ isAnonymous }) => isAnonymous) ? 'both' : 'users'
}

/** Gives each rule its cost, from the durations of the requests that would have this route. */
async function pricedRoutes(
  journal: Journal,
  rules: readonly SuggestedRule[],
  base: Pick<Draft, 'upstream' | 'callers' | 'credentials' | 'key'>,
): Promise<SuggestedRoute[]> {
  const bare = rules.map((rule) => ({ ...rule, cost: 1, requests: 0, medianMs: null }))
  const config = understood(textOf({ ...base, routes: bare, limits: sameLimits(bare, MAX_LIMIT) }))
  const tariffOf = createTariffs(config, await planRulesOf(config))
  const durations = new RouteDurations()
  const requests = new Map<string, number>()
  journal.forEach((entry) => {
    const tariff = tariffOf(entry)
    if (tariff.kind === 'uncharged') return
    durations.add(tariff.route, entry)
    requests.set(tariff.route, (requests.get(tariff.route) ?? 0) + 1)
  })
  return rules.map((rule) => ({
    ...rule,
    cost: durations.costOf(rule.match),
    requests: requests.get(rule.match) ?? 0,
    medianMs: durations.medianOf(rule.match),
  }))
}

function spanOf(journal: Journal): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  journal.forEach(({ at }) => {
    from = Math.min(from, at)
    to = Math.max(to, at)
  })
  return { from, to }
}

function understood(text: string): Config {
  const loaded = parseConfig(text, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(`the suggestion is not good:\n${formatProblems(loaded.problems)}`)
  return loaded.config
}

/** Settings by which the file lets requests through until it enforces. `check` goes on to warn of them. */
const OPEN = /^(?:auth\.shadow|edge\.lenient\[\d+\])$/

/** The suggestion may have no warnings except those of `OPEN`. @throws Error with its problems and all other warnings */
function insistOnGood(loaded: LoadResult): void {
  const warnings = loaded.warnings.filter(({ path }) => !OPEN.test(path))
  const problems = [...(loaded.ok ? [] : loaded.problems), ...warnings]
  if (problems.length > 0) throw new Error(`the suggestion is not good:\n${formatProblems(problems)}`)
}
