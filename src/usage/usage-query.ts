import { beginOf, endOf, type Window } from '../quota/window.ts'
import { oldestStart } from './series.ts'

/** What is asked of the usage: by whom, over which time, in which steps. Pure. */

export const USAGE_KINDS = ['user', 'organisation', 'plan', 'category', 'route', 'all'] as const
/** By whose name the rows are. Users and organisations have a history of runs, the others series of half hours. */
export type UsageKind = (typeof USAGE_KINDS)[number]

export const USAGE_STEPS = ['range', 'run', '30m', '1h', '1d'] as const
/** `range`: one row for the whole range; `run`: one for each run of the window. The others are aligned to UTC. */
export type UsageStep = (typeof USAGE_STEPS)[number]

/** The parts of a query, as they are written. */
export const USAGE_FIELDS = [
  'from',
  'to',
  'by',
  'user',
  'organisation',
  'category',
  'route',
  'window',
  'step',
  'order',
] as const
export type UsageFields = { readonly [K in (typeof USAGE_FIELDS)[number]]?: string | undefined }

export interface UsageQuery {
  readonly by: UsageKind
  /** Milliseconds since the epoch. What starts in [from, to) counts. */
  readonly from: number
  readonly to: number
  readonly step: UsageStep
  /** The one name that is asked for; `null` for all. */
  readonly name: string | null
  /** Only users whose credential named it last; `null` for all. */
  readonly organisation: string | null
  readonly category: string | null
  /** Whose runs are counted: of one window only, since each charge is in each. `null` for series. */
  readonly window: Window | null
  /** The most tokens first. */
  readonly isRanked: boolean
  /** Whether all that started in the range is still kept. */
  readonly isComplete: boolean
}

export interface UsageProblem {
  /** Of the field. */
  readonly path: string
  /** What is wrong, and the cure. */
  readonly msg: string
}

export interface UsageContext {
  /** The store's time. */
  readonly at: number
  readonly windows: readonly Window[]
  readonly kept: KeptRuns
  /** The range of a query that names none: that of the page before. Default the last day. */
  readonly range?: Pick<UsageQuery, 'from' | 'to'> | undefined
}

/** How long runs are kept after their end, in seconds: those of the longest window, and the others. */
export interface KeptRuns {
  readonly longestSeconds: number
  readonly shorterSeconds: number
}

const DAY_MS = 86_400_000
export const MOST_DAYS = 400
export const MOST_STEPS = 10_000
const STEP_MS = { '30m': DAY_MS / 48, '1h': DAY_MS / 24, '1d': DAY_MS } as const

/** In milliseconds; `null` for one that has no length of its own. */
export function stepMs(step: UsageStep): number | null {
  return step === 'range' || step === 'run' ? null : STEP_MS[step]
}

/** @returns all that is wrong with it, if anything is */
export function readUsageQuery(
  fields: UsageFields,
  context: UsageContext,
): { readonly query: UsageQuery } | { readonly problems: readonly UsageProblem[] } {
  const problems: UsageProblem[] = []
  const wrong = (path: string, msg: string): void => void problems.push({ path, msg })
  const by = oneOf('by', fields.by, USAGE_KINDS, 'user', wrong)
  const step = oneOf('step', fields.step, USAGE_STEPS, 'range', wrong)
  if (fields.order !== undefined && fields.order !== 'tokens') wrong('order', 'must be tokens, or be left out')
  const range = rangeOf(fields, context, wrong)
  const length = stepMs(step)
  if (length !== null && (range.to - range.from) / length > MOST_STEPS) {
    wrong('step', `makes more than ${MOST_STEPS} steps: take a longer one, or a shorter range`)
  }
  const ofRuns = isOfRuns(by)
  if (!ofRuns) for (const problem of strangeToSeries(by, fields)) problems.push(problem)
  if (by === 'organisation' && fields.user !== undefined) wrong('user', 'is for by=user: leave it out')
  if (ofRuns && fields.route !== undefined) wrong('route', 'is for by=route: leave it out')
  const window = ofRuns ? windowOf(fields.window, range.from, context, wrong) : null
  if (problems.length > 0) return { problems }
  const { user = null, organisation = null, category = null, route = null } = fields
  const query = {
    by,
    ...range,
    step,
    name: by === 'all' || by === 'plan' ? null : { user, organisation, category, route }[by],
    organisation: by === 'user' ? organisation : null,
    category,
    window,
    isRanked: fields.order === 'tokens',
    isComplete: isKept(window, range.from, context),
  }
  return { query }
}

export function isOfRuns(by: UsageKind): by is 'user' | 'organisation' {
  return by === 'user' || by === 'organisation'
}

type Wrong = (path: string, msg: string) => void

function oneOf<T extends string>(path: string, text: string | undefined, all: readonly T[], usual: T, wrong: Wrong): T {
  const found = all.find((each) => each === (text ?? usual))
  if (found === undefined) wrong(path, `must be one of ${all.join(', ')}`)
  return found ?? usual
}

/** What only runs have. */
function strangeToSeries(by: UsageKind, fields: UsageFields): UsageProblem[] {
  const strange = (['user', 'organisation', 'window', 'category', 'route'] as const).filter(
    (name) => fields[name] !== undefined && name !== by,
  )
  const ofRuns = strange.map((path) => {
    const other = path === 'route' ? 'route' : 'user'
    return { path, msg: `is not known of by=${by}: leave it out, or ask by=${other}` }
  })
  const msg = `by=${by} has no runs: take 30m, 1h, 1d or range`
  return fields.step === 'run' ? [...ofRuns, { path: 'step', msg }] : ofRuns
}

const A_TIME = 'must be a time like 2026-11-01T00:00:00Z, or a day like 2026-11-01'

function rangeOf(
  { from, to }: UsageFields,
  { at, range }: UsageContext,
  wrong: Wrong,
): Pick<UsageQuery, 'from' | 'to'> {
  const moment = (path: string, text: string | undefined, usual: number): number => {
    const time = text === undefined ? usual : timeOf(text)
    if (time === null) wrong(path, path === 'from' ? `${A_TIME}, or a span like 6h or 7d` : A_TIME)
    return time ?? usual
  }
  // What was charged at this very moment is in it.
  const end = moment('to', to, range?.to ?? at + 1)
  const span = from === undefined ? null : spanMs(from)
  const start = span === null ? moment('from', from, range?.from ?? end - DAY_MS) : (range?.from ?? end - span)
  if (start >= end) wrong('from', 'must lie before to')
  else if (end - start > MOST_DAYS * DAY_MS) wrong('from', `must lie at most ${MOST_DAYS} days before to`)
  return { from: start, to: end }
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

const SPAN = /^(\d{1,6})([mhd])$/
const UNIT_MS = { m: 60_000, h: 3_600_000, d: DAY_MS } as const

/** Of `90m`, `6h` or `7d`, in milliseconds; `null` for anything else. */
export function spanMs(text: string): number | null {
  const [, count, unit] = SPAN.exec(text) ?? []
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** Of a day in UTC, or of a time with its offset; a query may have made a space of its `+`. `null` for anything else. */
export function timeOf(text: string): number | null {
  const written = text.replace(' ', '+')
  const [, year, month, day] = TIME.exec(written) ?? []
  if (day === undefined) return null
  // A day that the month does not have would be one of the next.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  const time = Date.parse(written)
  return isDay && time >= 0 ? time : null
}

/** The named window, or the shortest one of which all runs of the range are kept, else the longest. */
function windowOf(name: string | undefined, from: number, context: UsageContext, wrong: Wrong): Window | null {
  const byLength = context.windows.toSorted((a, b) => a.seconds - b.seconds)
  if (name === undefined) return byLength.find((window) => isKept(window, from, context)) ?? byLength.at(-1) ?? null
  const named = byLength.find((window) => window.name === name)
  if (named === undefined) wrong('window', `must be one of ${byLength.map((window) => window.name).join(', ')}`)
  return named ?? null
}

/** @param window `null` for series */
function isKept(window: Window | null, from: number, { at, windows, kept }: UsageContext): boolean {
  if (window === null) return from >= oldestStart(at)
  const isLongest = windows.every(({ seconds }) => seconds <= window.seconds)
  const seconds = isLongest ? kept.longestSeconds : kept.shorterSeconds
  return endOf(window, from) + seconds * 1000 >= at
}

/** When a run starts and ends, as it is shown. */
export function runTimes(window: Window, startedAt: number): { readonly start: number; readonly end: number } {
  return { start: beginOf(window, startedAt), end: endOf(window, startedAt) }
}
