import * as schemas from '../../contract/admin.ts'
import type { NowResponse, RoutesResponse, ScopedTable, StatusResponse } from '../../contract/api.ts'
import { upsetOf } from '../../control/keeper.ts'
import type { Changes, LastChange } from '../../control/state.ts'
import { type Bucket, lastHalfHour } from '../../failures/histogram.ts'
import { together } from '../../lib/serialize.ts'
import type { LimitTable } from '../../quota/policy.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { BEAT_MS, type LetIn, type Replica, type ReplicaCounts, UNMATCHED } from '../../replicas/presence.ts'
import { episodePages } from '../../usage/episode-pages.ts'
import type { Episode } from '../../usage/episodes.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, iso, ok, type Route } from '../http.ts'
import { route } from '../route.ts'
import type { Setup } from '../state.ts'
import { fullWindows, lastMinute, latestGlobal, RECENT_MS, whoIsRefused } from '../status.ts'
import { globalWindows } from './quota.ts'

type Beats = Awaited<ReturnType<Desk['store']['listReplicas']>>

/** Routes that show the present state: the replicas and their sums, and the route map with its hits. */
export function nowRoutes(desk: Desk, now: () => number): Route[] {
  const seen = { ...lastSeen(desk, now), upsets: upsetsOf(desk), lastMinute: lastMinute(), refusals: lately(desk) }
  return [
    route('GET', '/api/now', {
      summary: 'The present state of the replicas, the store, the upstream and the global windows',
      more: 'While the store cannot be reached, `store.answers` is false, the replicas and their sums are those that were seen last, and fields that only the store knows are null.',
      responses: { 200: schemas.now },
      handle: () =>
        orWithoutStore<NowResponse>(
          desk,
          async () => nowResponse(desk, await seen.ask(), seen.upsets),
          () => withoutStore(desk, seen.recall(), now()),
        ),
    }),
    route('GET', '/api/status', {
      summary:
        'Which global windows refuse now, and how many got 429 in the last 5 minutes: a summary for whoever polls',
      more: 'A user without room who sends nothing for 5 minutes is not counted here: `GET /api/users?order=use&limit=1` has how many have no room now as `counts.blocked`.',
      responses: { 200: schemas.status },
      handle: () =>
        orWithoutStore(
          desk,
          () => statusResponse(desk, seen),
          () => statusWithoutStore(desk),
        ),
    }),
    route('GET', '/api/routes', {
      summary: 'The route map, hits, and what matched nothing',
      responses: { 200: schemas.routes },
      handle: () => showRoutes(desk),
    }),
  ]
}

/** The replicas when the store last responded, because sums that fall to zero during an outage would mislead. */
function lastSeen({ store }: Desk, now: () => number) {
  let last: { beats: Beats; at: number } | null = null
  return {
    async ask(): Promise<Beats> {
      const beats = await store.listReplicas()
      last = { beats, at: now() }
      return beats
    },
    /** `null` if the store has not responded since the start. */
    recall(): Beats | null {
      if (last === null) return null
      const since = Math.max(0, now() - last.at)
      return last.beats.map((beat) => ({ ...beat, silentMs: beat.silentMs + since }))
    },
  }
}

type Upset = NonNullable<NowResponse['upsets']>[number]

/** How long an upset is shown, in milliseconds. */
const UPSET_MS = 24 * 3_600_000
/** In how many of the latest entries of the audit upsets are searched. */
const LOOKED_AT = 100

/** Reads the audit only after a change. */
function upsetsOf({ store }: Desk) {
  let last: { readonly of: LastChange; readonly upsets: readonly Upset[] } | null = null
  return async (of: LastChange, at: number): Promise<readonly Upset[]> => {
    if (last?.of.version !== of.version || last.of.changedAt !== of.changedAt) {
      const entries = of.version === 0 ? [] : await store.readAudit(null, LOOKED_AT)
      const upsets = entries.flatMap((entry): Upset[] => {
        const outcome = upsetOf(entry)
        return outcome === null ? [] : [{ version: entry.version, at: iso(entry.at), outcome, why: entry.why ?? '' }]
      })
      last = { of, upsets }
    }
    return last.upsets.filter((upset) => Date.parse(upset.at) > at - UPSET_MS)
  }
}

/** After more refusals than this, their counts are used again for `KEPT_MS`, which is less than the 5 s between two polls of a page. */
const FEW = 1000
const KEPT_MS = 4000

/** Who was refused in the last minutes. Up to 20,000 refusals are read, so all who ask meanwhile share one reading. */
function lately({ store }: Desk) {
  const read = async (at: number) => {
    const recent: Episode[] = []
    for await (const page of episodePages(store, { since: at - RECENT_MS })) recent.push(...page)
    return { at, isLong: recent.length > FEW, who: whoIsRefused(recent), global: latestGlobal(recent) }
  }
  let last: Awaited<ReturnType<typeof read>> | null = null
  return together(async () => {
    const { at } = await store.controlVersion()
    if (last?.isLong !== true || at < last.at || at >= last.at + KEPT_MS) last = await read(at)
    return last
  })
}

interface Seen extends ReturnType<typeof lastSeen> {
  readonly upsets: ReturnType<typeof upsetsOf>
  readonly lastMinute: ReturnType<typeof lastMinute>
  readonly refusals: ReturnType<typeof lately>
}

/** The whole response, or the one without the store. A store that takes no writes counts as missing, since nothing can be charged or reported there. */
async function orWithoutStore<T>(desk: Desk, whole: () => Promise<T>, without: () => T): Promise<AdminResponse> {
  try {
    return ok(desk.lacksStore() ? without() : await whole())
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return ok(without())
  }
}

async function nowResponse(desk: Desk, beats: Beats, upsetsAt: Seen['upsets']): Promise<NowResponse> {
  const view = await desk.view()
  const upsets = await upsetsAt(view.state, view.at)
  return {
    ...ofReplicas(beats),
    ...ofSetup(desk, beats),
    at: iso(view.at),
    agree: await agree(desk, beats, view.state.version, view.at),
    store: { kind: view.setup.store, answers: true },
    backend: { origin: view.setup.upstream, ...forwarded(view.buckets, view.at) },
    controlVersion: view.state.version,
    windows: await globalWindows(desk, view),
    shadow: view.shadow,
    ...(upsets.length > 0 && { upsets }),
  }
}

/** @param beats `null` if none were seen since the start */
function withoutStore(desk: Desk, beats: Beats | null, at: number): NowResponse {
  const setup = desk.setup()
  const { version, settings } = desk.control.state()
  return {
    ...(beats === null ? { counts: null, replicas: null } : ofReplicas(beats)),
    ...ofSetup(desk, beats),
    at: iso(at),
    agree: null,
    store: { kind: setup.store, answers: false },
    backend: { origin: setup.upstream, requests: null, status0: null, status5xx: null },
    controlVersion: version,
    windows: null,
    shadow: settings.value.shadow ?? setup.quota.shadow,
  }
}

function ofSetup(
  { setup, control }: Desk,
  beats: Beats | null,
): Pick<NowResponse, 'config' | 'storeOutage' | 'authShadow' | 'unwritten'> {
  const { file, hash, storeOutage, authShadow } = setup()
  const unwritten = unwrittenLimits(setup(), control.state().settings.value)
  return {
    ...(unwritten !== null && { unwritten }),
    config: { file, hash },
    storeOutage: Object.fromEntries(storeOutage),
    authShadow: { on: authShadow, letIn: beats === null ? null : letInBy(beats) },
  }
}

/** The default baselines of charged categories without configured limits; `null` if there are none. */
function unwrittenLimits({ quota, cheapest, origin }: Setup, changes: Changes): ScopedTable | null {
  const isWritten = (category: string): boolean =>
    changes.baselines?.personal?.[category] !== undefined ||
    quota.windows.some(({ name }) => origin('personal', category, name, 'baselines') !== null)
  const unwritten = [...cheapest.keys()].filter((category) => !isWritten(category))
  if (unwritten.length === 0) return null
  const rows = (table: LimitTable) =>
    Object.fromEntries(unwritten.map((category) => [category, Object.fromEntries(table.get(category) ?? [])]))
  return { personal: rows(quota.baselines.personal), global: rows(quota.baselines.global) }
}

function letInBy(beats: Beats): NowResponse['authShadow']['letIn'] {
  const sum = (why: keyof LetIn): number => beats.reduce((all, { letIn }) => all + (letIn?.[why] ?? 0), 0)
  return { missing: sum('missing'), invalid: sum('invalid'), ambiguous: sum('ambiguous'), unchecked: sum('unchecked') }
}

function ofReplicas(beats: Beats): Pick<NowResponse, 'counts' | 'replicas'> {
  return {
    counts: beats.map(({ counts }) => counts).reduce(sum, NONE),
    replicas: beats.map(({ hits: _, unmatched: __, letIn: ___, unsent: ____, startedAt, ...beat }) => ({
      ...beat,
      startedAt: iso(startedAt),
    })),
  }
}

async function statusResponse(desk: Desk, seen: Seen): Promise<StatusResponse> {
  const [view, beats, { who, global }] = await Promise.all([desk.view(), seen.ask(), seen.refusals()])
  const [upsets, windows] = await Promise.all([seen.upsets(view.state, view.at), globalWindows(desk, view)])
  return {
    store: { answers: true },
    storeOutage: Object.fromEntries(view.setup.storeOutage),
    shadow: view.shadow,
    controlVersion: view.state.version,
    full: view.shadow ? [] : fullWindows(windows, global, view.setup),
    ...who,
    upstream: seen.lastMinute(beats, view.at),
    ...(upsets.length > 0 && { upsets }),
  }
}

function statusWithoutStore(desk: Desk): StatusResponse {
  const { storeOutage, quota } = desk.setup()
  const { version, settings } = desk.control.state()
  return {
    store: { answers: false },
    storeOutage: Object.fromEntries(storeOutage),
    shadow: settings.value.shadow ?? quota.shadow,
    controlVersion: version,
    ...{ full: [], users: 0, organisations: 0, global: 0, upstream: null },
  }
}

const NONE: ReplicaCounts = {
  requests: 0,
  refused: 0,
  shadowed: 0,
  tokens: 0,
  forwarded: 0,
  failed: 0,
  inFlight: 0,
}

function sum(a: ReplicaCounts, b: ReplicaCounts): ReplicaCounts {
  const sums = Object.entries(a).map(([name, count]) => [name, count + b[name as keyof ReplicaCounts]])
  return Object.fromEntries(sums) as ReplicaCounts
}

/** A replica reports its version with its next beat. A change that is younger than two beats may still be on its way. */
async function agree({ store }: Desk, beats: Beats, version: number, at: number): Promise<boolean> {
  if (new Set(beats.map(({ hash }) => hash)).size > 1) return false
  const least = Math.min(version, ...beats.map(({ controlVersion }: Replica) => controlVersion))
  if (least === version) return true
  const [missed] = await store.readAudit(least + 2, 1)
  // A change from the future was made while the clock was ahead, so its age is unknown.
  return missed !== undefined && Math.abs(at - missed.at) < 2 * BEAT_MS
}

/** An old failure must not disappear by rounding before it is 30 minutes old. */
function forwarded(buckets: readonly Bucket[], at: number): Omit<NowResponse['backend'], 'origin'> {
  const { total, status0, status5xx } = lastHalfHour(buckets, at)
  return { requests: Math.ceil(total), status0: Math.ceil(status0), status5xx: Math.ceil(status5xx) }
}

const LATEST = 20

async function showRoutes({ setup, store }: Desk): Promise<AdminResponse> {
  const { file, routes, unmatched } = setup()
  const beats = await store.listReplicas()
  const hits = (match: string) => beats.reduce((total, { hits }) => total + (hits[match] ?? 0), 0)
  const response: RoutesResponse = {
    file,
    routes: routes.map((route) => ({ ...route, hits: hits(route.match) })),
    unmatched: {
      kind: unmatched,
      hits: hits(UNMATCHED),
      latest: [...new Set(beats.flatMap(({ unmatched }) => unmatched))].slice(0, LATEST),
    },
  }
  return ok(response)
}
