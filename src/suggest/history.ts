import { withBaselines } from '../config/baselines-text.ts'
import { type Config, chargedRules, metersIn } from '../config/config.ts'
import { parseConfig } from '../config/load.ts'
import { formatProblems } from '../config/problems.ts'
import type { Environment } from '../config/substitute.ts'
import { BUCKET_MS } from '../failures/histogram.ts'
import { dearest } from '../inputs/price.ts'
import { everyStep } from '../lib/steps.ts'
import type { HistoryStore } from '../quota/history-store.ts'
import type { Window } from '../quota/window.ts'
import { moment, percent } from '../replay/print.ts'
import { SERIES_MS, type SeriesRow } from '../usage/series.ts'
import type { UsageLogStore } from '../usage/usage-log-store.ts'
import type { SuggestedLimit } from './draft.ts'
import { FEW, type Margin, percentileOf, roundedUp } from './limits.ts'

export interface HistoryOptions {
  readonly margin: Margin
  /** The runs that count: those that started at `from` or later and before `to`, in milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  readonly env: Environment
}

export type HistorySource = Pick<HistoryStore, 'scanHistory'> & Pick<UsageLogStore, 'readSeries'>

/** The most tokens of any run, by category and seconds of its window: a number for each user, the least first. */
type PeaksOfUsers = ReadonlyMap<string, readonly number[]>

/**
 * The text of a configuration with baselines from the usage of a store.
 * @throws Error if nobody used anything in that time, and for a store that cannot be read
 */
export async function suggestFromHistory(
  store: HistorySource,
  file: { readonly text: string; readonly config: Config },
  options: HistoryOptions,
): Promise<string> {
  const { from, to, margin, env } = options
  const { peaks, began } = await peaksOf(store, from, to)
  if (peaks.size === 0) throw new Error('nobody used anything in this time: choose a longer one with --from')
  const { at, rows } = await store.readSeries({ by: 'category', from, to })
  const { categories, baselines } = file.config.quota
  const basis = { peaks, rows, since: at - SERIES_MS, margin, from, began, to, config: file.config }
  const all = categories.flatMap((category) => limitsOf(category, basis))
  const limits = (['personal', 'global'] as const).flatMap((scope) =>
    all.filter((limit) => limit.scope === scope && baselines[scope].get(limit.category)?.has(limit.window)),
  )
  const overOf = ({ scope, category, window }: SuggestedLimit) => baselines.over?.[scope]?.get(category)?.get(window)
  const soft = limits.map((limit) => ({ ...limit, over: overOf(limit) }))
  const text = withBaselines(file.text, soft, [
    `Baselines suggested from what users did, ${moment(began)} to ${moment(to)}.`,
    `A limit is what ${margin.percentile} % of users stayed within, each in the busiest run of the window, times ${margin.headroom}, rounded up to two digits.`,
    'The history has runs and no requests: "tollgate replay" with a log has the share of requests.',
  ])
  const loaded = parseConfig(text, file.config.file, env)
  if (!loaded.ok) throw new Error(`the suggestion is not good:\n${formatProblems(loaded.problems)}`)
  return text
}

/** @returns the peaks, and the begin of the first run of that time */
async function peaksOf(
  store: HistorySource,
  from: number,
  to: number,
): Promise<{ readonly peaks: PeaksOfUsers; readonly began: number }> {
  const peaks = new Map<string, number[]>()
  let began = to
  const steps = everyStep((cursor: string | null) => store.scanHistory('personal', cursor))
  for await (const { owners } of steps) {
    for (const owner of owners) {
      const own = new Map<string, number>()
      owner.eachRun(from, to, (category, seconds, startedAt, tokens) => {
        began = Math.min(began, startedAt)
        const key = keyOf(category, seconds)
        own.set(key, Math.max(own.get(key) ?? 0, tokens))
      })
      for (const [key, tokens] of own) {
        const list = peaks.get(key) ?? []
        list.push(tokens)
        peaks.set(key, list)
      }
    }
  }
  for (const list of peaks.values()) list.sort((a, b) => a - b)
  return { peaks, began }
}

function keyOf(category: string, seconds: number): string {
  return `${seconds} ${category}`
}

interface Basis extends Omit<HistoryOptions, 'env'> {
  /** The begin of the first run: a store that is an hour old has no full day, whatever time was asked for. */
  readonly began: number
  readonly peaks: PeaksOfUsers
  /** The usage by half hours. */
  readonly rows: readonly SeriesRow[]
  /** The begin of the first half hour that the store still has, which may be later than the begin of the first run. */
  readonly since: number
  readonly config: Config
}

function limitsOf(category: string, basis: Basis): SuggestedLimit[] {
  const { config, peaks, margin } = basis
  const dearest = dearestOf(category, config)
  let shorter = { personal: dearest, global: dearest }
  const { windows, baselines } = config.quota
  const limited = windows.filter(({ name }) => baselines.personal.get(category)?.has(name))
  return limited.flatMap((window): SuggestedLimit[] => {
    const users = peaks.get(keyOf(category, window.seconds)) ?? []
    const before = limitsBefore(category, window, config)
    const length = window.seconds * 1000
    // Half of a window is enough: nobody begins at the very start of the time.
    const isLong = length > basis.to - basis.from || length > 2 * (basis.to - basis.began)
    const isKnown = users.length > 0 && !isLong
    const isKnownOfAll = isKnown && length <= basis.to - basis.since + BUCKET_MS
    const whyKept = (limit: number, before: number) =>
      `${isLong || isKnown ? 'longer than the time that is known' : 'not used in this time'}: ${limit === before ? 'as before' : 'by the other limits'}`
    const covered = isKnown ? percentileOf(users, margin.percentile) : 0
    const personal = Math.max(shorter.personal, isKnown ? roundedUp(covered * margin.headroom) : before.personal)
    const most = isKnownOfAll ? mostOfAll(category, window, basis.rows) : 0
    const wanted = isKnownOfAll ? roundedUp(most * margin.headroom) : before.global
    const global = Math.max(shorter.global, FEW * personal, wanted)
    shorter = { personal, global }
    const place = { category, window: window.name }
    return [
      {
        ...place,
        scope: 'personal',
        limit: personal,
        why: isKnown ? whyOf(users, covered, personal, margin) : whyKept(personal, before.personal),
      },
      {
        ...place,
        scope: 'global',
        limit: global,
        why: isKnownOfAll
          ? `all together used ${most} at most${basis.since > basis.began ? ' in the last 7 days' : ''}`
          : whyKept(global, before.global),
      },
    ]
  })
}

function limitsBefore(category: string, { name }: Window, { quota }: Config) {
  const { personal, global } = quota.baselines
  return { personal: personal.get(category)?.get(name) ?? 0, global: global.get(category)?.get(name) ?? 0 }
}

function whyOf(users: readonly number[], covered: number, limit: number, { percentile }: Margin): string {
  const above = users.filter((tokens) => tokens > limit).length
  return `${percentile} % of ${users.length} users stayed within ${covered}, the busiest used ${users.at(-1)}; would have stopped ${above} of ${users.length} users (${percent(above, users.length)})`
}

/** The highest price of a category: a request must fit into its limits. */
function dearestOf(category: string, config: Config): number {
  const meters = chargedRules(config)
    .flatMap(metersIn)
    .filter((meter) => meter.category === category)
  const costs = meters.map(({ cost }) => dearest(cost))
  return Math.max(1, ...costs)
}

/** The most tokens of successive half hours that a run of the window may touch: the run may begin and end within one. */
function mostOfAll(category: string, { seconds }: Window, rows: readonly SeriesRow[]): number {
  const own = rows.filter(({ name }) => name === category)
  let [most, sum, first] = [0, 0, 0]
  for (const { start, counts } of own) {
    sum += counts.tokens
    for (; (own[first]?.start ?? start) <= start - seconds * 1000 - BUCKET_MS; first++)
      sum -= own[first]?.counts.tokens ?? 0
    most = Math.max(most, sum)
  }
  return most
}
