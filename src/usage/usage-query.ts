import { countedName, isBook, LONGEST, longestOf } from '../quota/books.ts'
import { type Calendar, firstMomentOf, periodOf } from '../quota/calendar.ts'
import { keptOf, MOST_RUNS, type Retention } from '../quota/history.ts'
import type { CountedSince, KeptStates } from '../quota/history-store.ts'
import { keptForCertain } from '../quota/kept.ts'
import { endOf, type Window } from '../quota/window.ts'
import { oldestStart } from './series.ts'
import { ON_THE_WAY_MS, type Silence } from './silence.ts'

/** A question about usage: whose, over which time, and in which steps. Pure. */

export const USAGE_KINDS = ['user', 'organisation', 'plan', 'category', 'route', 'all'] as const
/** What rows are named by. Users and organisations have a history of runs, and all others have series. */
export type UsageKind = (typeof USAGE_KINDS)[number]

export const USAGE_STEPS = ['range', 'run', '30m', '1h', '1d'] as const
/** `range`: the whole range; `run`: each run of the window; `1d`: days of the zone. Other steps are aligned to UTC. */
export type UsageStep = (typeof USAGE_STEPS)[number]

/** The parameters of a query. */
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
  /** Milliseconds since the epoch. A run counts if its first charge is in [from, to). */
  readonly from: number
  readonly to: number
  /** Whether the query names no end, or one in the future. Runs under way then count as they are, even with charges after the first page. */
  readonly endsNow: boolean
  readonly step: UsageStep
  /** The only name to return; `null` for all. */
  readonly name: string | null
  /** Only users whose credential last named this organisation; `null` for all. */
  readonly organisation: string | null
  readonly category: string | null
  /** The only window that is counted, because each charge is in every window. It is that of the books for whole days, and `null` for series. */
  readonly window: Window | null
  /** The window for each category, if that has fewer gaps than one window for all; `null` if `window` is for all. */
  readonly windows: ReadonlyMap<string, Window> | null
  /** The days of the zone of the books. */
  readonly days: Calendar
  /** Whether a series is read by days and not by half hours. */
  readonly byDays: boolean
  /** Most tokens first. */
  readonly isRanked: boolean
  /** Why a part of the range may be unknown, one sentence for each reason. */
  readonly gaps: readonly string[]
}

export interface UsageProblem {
  /** The name of the wrong field. */
  readonly path: string
  /** The problem and the cure. */
  readonly msg: string
}

/** The rules of one configuration. */
export interface UsageRules {
  readonly windows: readonly Window[]
  /** The window of the books; `null` if none are kept. */
  readonly books: Window | null
  /** IANA name of the zone for days. */
  readonly zone: string
  readonly kept: Retention
}

export interface UsageContext extends UsageRules {
  /** The store's time. */
  readonly at: number
  readonly since: CountedSince
  /** How long runs are kept, as noted by the gateways. Default always as in the configuration. */
  readonly keeping?: KeptStates
  /** Times in which processes that disappeared may have counted something that is in no series. Default none. */
  readonly silences?: readonly Silence[]
  /** The range of the page before, for a query that names none. Default the present day and the one before, as far as they are known. */
  readonly range?: Pick<UsageQuery, 'from' | 'to'> | undefined
}

const DAY_MS = 86_400_000
export const MOST_DAYS = 400
export const MOST_STEPS = 10_000
const STEP_MS = { '30m': DAY_MS / 48, '1h': DAY_MS / 24, '1d': DAY_MS } as const

/** In milliseconds; `null` for a step without a fixed length. */
export function stepMs(step: UsageStep): number | null {
  return step === 'range' || step === 'run' ? null : STEP_MS[step]
}

/** @returns the query, or all problems if there are any */
export function readUsageQuery(
  fields: UsageFields,
  context: UsageContext,
): { readonly query: UsageQuery } | { readonly problems: readonly UsageProblem[] } {
  const problems: UsageProblem[] = []
  const wrong = (path: string, msg: string): void => void problems.push({ path, msg })
  const by = oneOf('by', fields.by, USAGE_KINDS, 'user', wrong)
  const step = oneOf('step', fields.step, USAGE_STEPS, 'range', wrong)
  if (fields.order !== undefined && fields.order !== 'tokens') wrong('order', 'must be tokens, or be left out')
  const ofRuns = isOfRuns(by)
  const range = rangeOf(fields, context, ofRuns, wrong)
  const length = stepMs(step)
  if (length !== null && (range.to - range.from) / length > MOST_STEPS) {
    wrong('step', `makes more than ${MOST_STEPS} steps: take a longer one, or a shorter range`)
  }
  if (!ofRuns) for (const problem of strangeToSeries(by, fields)) problems.push(problem)
  if (by === 'organisation' && fields.user !== undefined) wrong('user', 'is for by=user: leave it out')
  if (ofRuns && fields.route !== undefined) wrong('route', 'is for by=route: leave it out')
  const endsNow = fields.to === undefined || range.to > context.at
  const asked = { by, step, user: fields.user ?? null, category: fields.category ?? null, endsNow, ...range }
  const window = ofRuns ? windowOf(fields.window, asked, context, wrong) : null
  const windows = fields.window === undefined && window !== null ? windowsByCategory(window, asked, context) : null
  if (problems.length > 0) return { problems }
  const series = ofRuns ? { byDays: false, gaps: [] } : seriesOf(asked, context)
  const { user = null, organisation = null, category = null, route = null } = fields
  const query = {
    by,
    ...range,
    endsNow,
    step,
    name: by === 'all' || by === 'plan' ? null : { user, organisation, category, route }[by],
    organisation: by === 'user' ? organisation : null,
    category,
    window,
    windows,
    days: daysOf(context),
    byDays: series.byDays,
    isRanked: fields.order === 'tokens',
    gaps: ofRuns ? gapsOfRuns(window, windows, asked, context, by === 'user' ? organisation : null) : series.gaps,
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

/** Problems with fields that do not belong to a series of this kind. */
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
  fields: UsageFields,
  context: UsageContext,
  ofRuns: boolean,
  wrong: Wrong,
): Pick<UsageQuery, 'from' | 'to'> {
  const { from, to } = fields
  const { at, range, zone } = context
  const moment = (path: string, text: string | undefined, usual: number): number => {
    const time = text === undefined ? usual : timeOf(text, zone)
    if (time === null) wrong(path, path === 'from' ? `${A_TIME}, or a span like 6h or 7d` : A_TIME)
    return time ?? usual
  }
  // Includes what was charged at this very moment.
  const end = moment('to', to, range?.to ?? at + 1)
  const began = from === undefined ? usualFrom(end, context, ofRuns) : beginOfSpan(from, end, context)
  const start = began === null ? moment('from', from, end - 1) : (range?.from ?? began)
  if (start >= end) wrong('from', 'must lie before to')
  else if (end - start > MOST_DAYS * DAY_MS) wrong('from', `must lie at most ${MOST_DAYS} days before to`)
  return { from: start, to: end }
}

function daysOf({ zone }: Pick<UsageRules, 'zone'>): Calendar {
  const days = known.get(zone) ?? { unit: 'day', zone }
  known.set(zone, days)
  return days
}

/** The few zones of configurations. A calendar remembers periods, so it must be the same object each time. */
const known = new Map<string, Calendar>()

/** The start of the day before the last one, or the time from which anything is known if that is later. */
function usualFrom(end: number, context: UsageContext, ofRuns: boolean): number {
  const from = dayBefore(end, 1, context)
  const since = knownSince(context)
  if (since === undefined || since >= end) return from
  return Math.max(from, ofRuns ? since : halfHourOf(since))
}

/** Since when days are counted; `undefined` if that is unknown, or if no days are counted. */
export function knownSince({ books, since }: UsageContext): number | undefined {
  return books === null ? undefined : since.get(countedName(books))
}

function halfHourOf(moment: number): number {
  return Math.floor(moment / HALF_HOUR_MS) * HALF_HOUR_MS
}

/** The start of the day that is this many days before the day of the last moment. @param end the first moment after it */
export function dayBefore(end: number, days: number, context: Pick<UsageRules, 'zone'>): number {
  const calendar = daysOf(context)
  let { from } = periodOf(calendar, end - 1)
  for (let i = 0; i < days; i++) from = periodOf(calendar, from - 1).from
  return from
}

/** A span in days begins at the start of a day. `null` if the text is no span. */
function beginOfSpan(text: string, end: number, context: UsageContext): number | null {
  const [, count, unit] = SPAN.exec(text) ?? []
  if (unit === 'd' && Number(count) > 0 && Number(count) <= MOST_DAYS) return dayBefore(end, Number(count), context)
  const span = spanMs(text)
  return span === null ? null : end - span
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

const SPAN = /^(\d{1,6})([mhd])$/
const UNIT_MS = { m: 60_000, h: 3_600_000, d: DAY_MS } as const

/** `90m`, `6h` or `7d` in milliseconds; `null` for any other text. */
export function spanMs(text: string): number | null {
  const [, count, unit] = SPAN.exec(text) ?? []
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

/**
 * The first moment of a day in a zone, or the moment of a time with its offset, whose `+` may have become a space. It is in milliseconds
 * since the epoch; `null` for any other text.
 * @param zone IANA name. Default UTC
 */
export function timeOf(text: string, zone = 'UTC'): number | null {
  const written = text.replace(' ', '+')
  const [, year, month, day] = TIME.exec(written) ?? []
  if (day === undefined) return null
  // A day that the month does not have would become a day of the next month.
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const isDay = new Date(date).getUTCDate() === Number(day)
  if (!isDay || !(Date.parse(written) >= 0)) return null
  return written.length === A_DAY ? firstMomentOf(date, zone) : Date.parse(written)
}

const A_DAY = '2026-11-01'.length

/** The part of a question that decides which windows or series are read. */
interface Asked {
  readonly by: UsageKind
  readonly step: UsageStep
  readonly user: string | null
  /** `null` for all categories. */
  readonly category: string | null
  readonly from: number
  readonly to: number
  readonly endsNow: boolean
}

/** Since when a window is counted, in the category of the question or in all; `undefined` if it is not counted, or if that is unknown. */
function countedSince(window: Window, { category }: Asked, { since }: UsageContext): number | undefined {
  const ofAll = since.get(countedName(window))
  const own = category === null || isBook(window) ? undefined : since.get(countedName(window, category))
  return ofAll === undefined || own === undefined ? (ofAll ?? own) : Math.min(ofAll, own)
}

/** In how many categories a window is known to be counted. */
function categoriesIn(window: Window, { since }: UsageContext): number {
  const name = countedName(window)
  if (since.has(name)) return Number.POSITIVE_INFINITY
  return [...since.keys()].filter((each) => each.startsWith(`${name} `)).length
}

/**
 * The named window, or that of the books for whole days. Otherwise it is the shortest window whose runs in the range are all kept. If there
 * is none, it is the window with the fewest gaps. Of several such windows it is the one that counts most categories, then the one that is
 * counted and kept for longest. If they are equal in that too and count only some categories, it is the longest window, because a short one
 * is mostly a guard for one category, such as ten logins in a minute.
 */
function windowOf(name: string | undefined, asked: Asked, context: UsageContext, wrong: Wrong): Window | null {
  const byLength = context.windows.toSorted((a, b) => a.seconds - b.seconds)
  if (name === undefined) {
    if (isOfDays(asked, context)) return context.books
    const known = byLength.map((window) => ({
      window,
      gaps: gapsOf(window, asked, context).length,
      since: countedSince(window, asked, context) ?? Number.POSITIVE_INFINITY,
      until: Math.min(context.at, keptUntil(window, asked, context)),
      categories: asked.category === null ? categoriesIn(window, context) : 0,
    }))
    const [best] = known.toSorted((a, b) => {
      if (a.gaps !== b.gaps || a.gaps === 0) return a.gaps - b.gaps
      if (a.categories !== b.categories) return b.categories - a.categories
      const age = a.since - b.since || b.until - a.until
      return age === 0 && Number.isFinite(a.categories) && asked.category === null
        ? b.window.seconds - a.window.seconds
        : age
    })
    return best?.window ?? null
  }
  const named = byLength.find((window) => window.name === name)
  if (named === undefined) wrong('window', `must be one of ${byLength.map((window) => window.name).join(', ')}`)
  return named ?? null
}

/**
 * The best window for each category, if none serves all. Each charge is in one of them, so the total is right.
 * @param window the best one for all of them together
 */
function windowsByCategory(window: Window, asked: Asked, context: UsageContext): ReadonlyMap<string, Window> | null {
  const together = gapsOf(window, asked, context).length
  if (asked.category !== null || isBook(window) || together === 0) return null
  const windows = new Map<string, Window>()
  for (const category of categoriesOf(context)) {
    const own = windowOf(undefined, { ...asked, category }, context, () => {})
    if (own !== null) windows.set(category, own)
  }
  return windows.size > 0 && gapsByCategory(windows, asked, context).length < together ? windows : null
}

function gapsByCategory(windows: ReadonlyMap<string, Window>, asked: Asked, context: UsageContext): string[] {
  return [...new Set([...windows].flatMap(([category, own]) => gapsOf(own, { ...asked, category }, context)))]
}

/** The categories that are known to be counted in a window. */
function categoriesOf({ windows, since }: UsageContext): ReadonlySet<string> {
  const names = windows.map((window) => `${countedName(window)} `)
  return new Set(
    [...since.keys()].flatMap((each) => {
      const name = names.find((one) => each.startsWith(one))
      return name === undefined ? [] : [each.slice(name.length)]
    }),
  )
}

/** Whether the books cover the range. It must begin with a day or with the first moment that the books know, and end with a day or now. */
function isOfDays({ step, from, to, endsNow }: Asked, context: UsageContext): boolean {
  const { books, since } = context
  if (books === null || step === '30m' || step === '1h') return false
  const days = daysOf(context)
  const begins = (moment: number): boolean => periodOf(days, moment).from === moment
  return (begins(from) || from === since.get(countedName(books))) && (endsNow || begins(to))
}

function gapsOfRuns(
  window: Window | null,
  windows: ReadonlyMap<string, Window> | null,
  asked: Asked,
  context: UsageContext,
  members: string | null,
): string[] {
  const gaps =
    windows !== null
      ? gapsByCategory(windows, asked, context)
      : window === null
        ? ['there is no window of which runs are kept']
        : gapsOf(window, asked, context)
  // The windows that limit an organisation depend on its users' plans.
  if (asked.by === 'organisation' && window !== null && !isBook(window)) {
    gaps.push('an organisation is known for whole days: a window limits only some of them')
  }
  if (members !== null) gaps.push(ofMembers(members, asked.user))
  return gaps
}

/** A user's days include all of his organisations: docs/contributing/decisions/use-within-an-organisation.md. */
function ofMembers(organisation: string, user: string | null): string {
  if (user === null) {
    return 'the users are those whose credential named the organisation last, with all that they used: its own use is by=organisation'
  }
  return `what ${user} used within ${organisation} alone is not kept: the rows have all that ${user} used, if the credential named ${organisation} last. Leave the organisation out, or ask by=organisation without the user`
}

/** Why runs of a window may be missing from the range, because they are not kept or were not counted. */
function gapsOf(window: Window, asked: Asked, context: UsageContext): string[] {
  const { from } = asked
  const { at } = context
  const counted = countedSince(window, asked, context)
  const of = isBook(window) ? 'days of this zone' : `window ${window.name}`
  const gaps: string[] = []
  if (counted === undefined) gaps.push(`${of}: ${notCounted(window, asked, context)}`)
  else if (from < counted) gaps.push(`${of}: what was used before ${new Date(counted).toISOString()} is not known`)
  if (keptUntil(window, asked, context) < at) {
    gaps.push(`${of}: the beginning is not kept any more (usage.keep, usage.shorter)`)
  }
  // A window has no more runs than fit one after the other.
  if (!isBook(window) && at - from > MOST_RUNS * window.seconds * 1000) {
    gaps.push(`${of}: of its runs the last ${MOST_RUNS} are kept`)
  }
  return gaps
}

/** Why it is unknown since when a window is counted. */
function notCounted(window: Window, { category }: Asked, { since }: UsageContext): string {
  if (isBook(window)) return 'it is not known since when they are counted'
  if (category !== null) return `it is not known since when category ${category} is counted in it`
  const isOfSome = [...since.keys()].some((name) => name.startsWith(`${countedName(window)} `))
  return isOfSome ? 'it counts some categories only: ask for one of them' : 'it is not known since when it is counted'
}

/** Until when the run at the beginning of the range is kept. */
function keptUntil(window: Window, { by, user, from }: Asked, { windows, kept, keeping, since }: UsageContext): number {
  const owner = by === 'user' ? (user ?? '') : ''
  const times = keptOf(kept, 'personal', owner)
  const seconds = (state: 'longest' | 'shorter'): number =>
    keptForCertain(keeping?.get(kept.isAnonymous(owner) ? 'anonymous' : state), times?.[`${state}Seconds`] ?? 0, from)
  const isLongest = isBook(window) || longestOf(windows)?.seconds === window.seconds
  // A run from before the window was the longest one was kept for the shorter time.
  const wasLongest = isBook(window) || from >= (since.get(LONGEST + countedName(window)) ?? Number.POSITIVE_INFINITY)
  const keptSeconds = isLongest ? seconds('longest') : seconds('shorter')
  return (
    endOf(window, from) + 1000 * (isLongest && !wasLongest ? Math.min(keptSeconds, seconds('shorter')) : keptSeconds)
  )
}

/** The step of series. */
const HALF_HOUR_MS = DAY_MS / 48

/** Whole days are read from the days of the series, unless half hours cover more of the range. */
function seriesOf(asked: Asked, context: UsageContext): { readonly byDays: boolean; readonly gaps: readonly string[] } {
  const { books } = context
  const ofHalfHours = gapsOfHalfHours(asked, context)
  if (books === null || !isOfDays(asked, context)) return { byDays: false, gaps: ofHalfHours }
  const ofDays = [...gapsOf(books, { ...asked, user: null }, context), ...gapsOfFlushes(asked, context)]
  return ofDays.length <= ofHalfHours.length ? { byDays: true, gaps: ofDays } : { byDays: false, gaps: ofHalfHours }
}

function gapsOfHalfHours(asked: Asked, context: UsageContext): string[] {
  const { from, to, endsNow } = asked
  const { at, books } = context
  const gaps: string[] = []
  const counted = books === null ? 0 : knownSince(context)
  if (from < oldestStart(at)) {
    gaps.push('half hours are kept for 7 days: a range of whole days is known for as long as usage.keep says')
  }
  if (counted === undefined || from < halfHourOf(counted))
    gaps.push('what was used before the store was first used is not known')
  if (from % HALF_HOUR_MS !== 0) gaps.push('the range begins within a half hour')
  if (to % HALF_HOUR_MS !== 0 && !endsNow) gaps.push('the range ends within a half hour')
  return [...gaps, ...gapsOfFlushes(asked, context)]
}

/** Why the series may lack a part of the range, because gateways have not sent it yet, or never will. */
function gapsOfFlushes({ from, to, endsNow }: Asked, { at, silences = [] }: UsageContext): string[] {
  const isOnTheWay = !endsNow && at < to + ON_THE_WAY_MS
  const late = isOnTheWay
    ? ['gateways may not have sent the last seconds of the range yet: ask again in 6 seconds']
    : []
  const silent = silences.filter((one) => halfHourOf(one.from) < to && one.to >= from)
  return silent.length > 0 ? [...late, lostIn(silent)] : late
}

/** A killed process loses up to its last two seconds, and a silent one everything that it has counted meanwhile. */
function lostIn(silences: readonly Silence[]): string {
  const from = Math.min(...silences.map((silence) => silence.from))
  const to = Math.max(...silences.map((silence) => silence.to))
  const times = `${new Date(from).toISOString()} and ${new Date(to).toISOString()}`
  return `a gateway ended or fell silent without sending all that it had counted between ${times}: the rows of by=user have it`
}
