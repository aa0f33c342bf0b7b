import * as schemas from '../../contract/admin.ts'
import type {
  LayerResponse,
  LimitTables,
  PlanTablesResponse,
  PreviewResponse,
  QuotaChangedResponse,
  QuotaResponse,
  SettingsInForceResponse,
  SettingsResponse,
  WarningResponse,
} from '../../contract/api.ts'
import type { AuditEntry } from '../../control/control-store.ts'
import { SETTINGS } from '../../control/forms.ts'
import { stackOf } from '../../control/layers.ts'
import { limitsAhead } from '../../control/limits-ahead.ts'
import { asOverrides } from '../../control/overrides.ts'
import { applyPatch, problemsOf, type QuotaPatchLike, resolve, restingIn } from '../../control/settings.ts'
import { type ControlState, storedOf } from '../../control/state.ts'
import { sameJson } from '../../lib/json.ts'
import { type LimitValue, valueIn } from '../../quota/limit-value.ts'
import {
  createPolicy,
  type LimitTable,
  modeFactor,
  type PlanLimits,
  type Policy,
  type QuotaSettings,
  type ScopedLimits,
} from '../../quota/policy.ts'
import { effectiveLimits, globalStatus, overInForce, type WindowStatuses } from '../../quota/status.ts'
import { type Desk, etag } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, iso, ok, type Route } from '../http.ts'
import { endsBetween, endsOf, layersShown } from '../layers-shown.ts'
import { lookBack } from '../look-back.ts'
import { preview } from '../preview.ts'
import { type PatchReach, reachOfPatch, vainIn } from '../reach.ts'
import { route } from '../route.ts'
import { changedSettings, settingsChange, settingsProblems } from '../settings-change.ts'
import type { InForce, View } from '../state.ts'
import { tooDear } from '../too-dear.ts'
import { ANYBODY } from '../used.ts'
import { distributionRoute } from './distribution.ts'
import { quotaResetRoute } from './quota-reset.ts'
import { quotaScheduledRoute } from './quota-scheduled.ts'

/** The routes of the settings for everybody. */
export function quotaRoutes(desk: Desk): Route[] {
  return [
    route('GET', '/api/quota', {
      summary: 'The settings in force, where each of them comes from, and the global windows',
      hasVersion: true,
      responses: { 200: schemas.quota },
      handle: () => show(desk),
    }),
    route('PATCH', '/api/quota', {
      summary: 'Changes settings on every replica within 2 seconds',
      more: 'A field that the body leaves out stays as it is. With null, the value of the file applies again.',
      body: schemas.quotaPatch,
      ifMatch: true,
      hasVersion: true,
      responses: { 200: schemas.quotaChanged },
      errors: ['version_conflict', 'conflict'],
      handle: (call) => changeQuota(desk, call),
    }),
    previewRoute(desk),
    distributionRoute(desk),
    quotaResetRoute(desk),
    quotaScheduledRoute(desk),
  ]
}

function previewRoute(desk: Desk): Route {
  return route('POST', '/api/quota/preview', {
    guard: 'read',
    summary: 'Says who would be blocked by a change, and whom it would have met yesterday. It changes nothing',
    body: schemas.quotaPatch,
    responses: { 200: schemas.preview },
    handle: (call) => desk.inTurn(() => previewOf(desk, call)),
  })
}

async function show(desk: Desk): Promise<AdminResponse> {
  const response = await quotaNow(desk)
  return ok(response, etag(response.version))
}

async function quotaNow(desk: Desk): Promise<QuotaResponse> {
  const view = await desk.view()
  const response = quotaResponse(view, await globalWindows(desk, view))
  return response.layers === undefined
    ? response
    : { ...response, layers: await withCounts(desk, view, response.layers) }
}

/** Layers with the counts for their guards. */
async function withCounts(
  { store }: Desk,
  { state }: View,
  layers: readonly LayerResponse[],
): Promise<readonly LayerResponse[]> {
  const stored = new Map(stackOf(SETTINGS, storedOf(state).settings.value).layers.map(({ id, guard }) => [id, guard]))
  return Promise.all(
    layers.map(async (layer) => {
      const id = stored.get(layer.id)?.id
      if (layer.guard === undefined || id === undefined) return layer
      return { ...layer, guard: { ...layer.guard, counted: await store.readGuard(id) } }
    }),
  )
}

async function showChanged(desk: Desk, entry: AuditEntry | undefined, reach: PatchReach): Promise<AdminResponse> {
  const { unfollowed, movesNobody } = reach
  const response: QuotaChangedResponse = {
    ...(await quotaNow(desk)),
    ends: endsOf(entry),
    ...(unfollowed.length > 0 && { unfollowed }),
    ...(movesNobody && { movesNobody }),
  }
  return ok(response, etag(response.version))
}

/** Makes the change in the body of a call. */
export async function changeQuota(desk: Desk, call: Call): Promise<AdminResponse> {
  // The state is read from the store, because a change may remove a value that another replica has just set.
  const state = await desk.control.fresh()
  const read = readPatch(desk, state, call.body)
  if ('problems' in read) return badFields(read.problems)
  const settings = settingsChange(read.patch)
  const { at } = await desk.store.controlVersion()
  const problems = settingsProblems(settings, storedOf(state).settings.value, at)
  if (problems.length > 0) return badFields(problems)
  const reach = await reachOfPatch(desk, state, read.patch, call.signal)
  return desk.change(call, {
    vain: vainIn(reach),
    versionOf: ({ settings }) => settings.version,
    changeOf(state) {
      const { value } = storedOf(state).settings
      const to = changedSettings(settings, value, call.identity?.name ?? 'nobody', at)
      return sameJson(to, value) ? null : { kind: 'settings', to }
    },
    response: (entry) => showChanged(desk, entry, reach),
  })
}

export async function previewOf(desk: Desk, { body, signal }: Pick<Call, 'body' | 'signal'>): Promise<AdminResponse> {
  const view = await desk.view()
  const { setup, settings, shadow, state, adaptive, at } = view
  const read = readPatch(desk, state, body)
  if ('problems' in read) return badFields(read.problems)
  const next = resolve(setup.quota, applyPatch(state.settings.value, read.patch))
  const reach = await reachOfPatch(desk, state, read.patch, signal)
  const { isKnown } = desk.knownUsers
  const stored = storedOf(state)
  const before = stored.settings.value
  const wished = { version: 0, value: changedSettings(settingsChange(read.patch), before, 'nobody', at) }
  const policy = (of: QuotaSettings) => () => createPolicy(of, adaptive.factor, asOverrides(state), isKnown)
  const previewed = await preview({
    desk,
    now: policy(settings),
    next: policy(next.settings),
    cheapest: setup.cheapest,
    ahead: limitsAhead({
      file: setup.quota,
      stored: { ...stored, settings: wished },
      factor: adaptive.factor,
      isKnown,
      isAdaptive: next.settings.mode === 'adaptive',
    }),
    exempt: setup.exempt,
    shadow: { now: shadow, next: next.shadow },
    windows: view.policy.windowsOfAnybody,
    overridden: { users: state.overrides.keys(), organisations: state.organisationOverrides.keys() },
    signal,
  })
  const warnings = warningsOf(setup, next.settings, adaptive.factor)
  const ends = endsBetween(SETTINGS, before, wished.value, at)
  const yesterday = await yesterdayUnder(desk, view, { policy: policy(next.settings), signal })
  return ok({ ...previewed, ...reach, ends, warnings, yesterday } satisfies PreviewResponse)
}

const DAY_MS = 86_400_000

/** The runs of the last 24 hours, compared with the limits of a change. @throws StoreError, or the reason of the signal */
async function yesterdayUnder(
  desk: Desk,
  { setup }: View,
  { policy, signal }: { readonly policy: () => Policy; readonly signal: AbortSignal },
): Promise<PreviewResponse['yesterday']> {
  const { from, to, scanned, rows } = await lookBack({
    desk,
    next: policy,
    exempt: setup.exempt,
    spanMs: DAY_MS,
    signal,
  })
  const { longestSeconds, shorterSeconds } = setup.usage.kept
  const complete = Math.min(longestSeconds, shorterSeconds) * 1000 >= DAY_MS
  return { from: iso(from), to: iso(to), complete, scanned, rows }
}

/** Reads a patch. Only the domain knows the categories and windows of the file, so its check decides, and the schema is only a second net. */
function readPatch(desk: Desk, { settings }: ControlState, body: unknown) {
  const problems = problemsOf(body, desk.setup().quota, settings.value)
  if (problems.length > 0) return { problems }
  const read = readFields(schemas.quotaPatch, body)
  return 'problems' in read ? read : { patch: read.data as QuotaPatchLike }
}

/** The global windows now; empty if the global scope is switched off. */
export async function globalWindows(
  { store }: Pick<Desk, 'store'>,
  { policy }: Pick<View, 'policy'>,
): Promise<WindowStatuses> {
  return globalStatus(policy, await store.readUsage(ANYBODY, policy.categories))
}

function quotaResponse(view: View, windows: WindowStatuses): QuotaResponse {
  return { ...settingsInForce(view, view.adaptive.factor, view.at), adaptive: view.adaptive, windows }
}

/** @param factor of mode `adaptive` @param at the store's time, in milliseconds since the epoch */
export function settingsInForce(inForce: InForce, factor: number, at: number): SettingsInForceResponse {
  const { settings, shadow, changed, policy, setup, state } = inForce
  const resting = restingIn(setup.quota, state.settings.value)
  const layers = layersShown(SETTINGS, storedOf(state).settings.value, at)
  const over = overInForce(policy)
  return {
    version: state.settings.version,
    ...(layers.length > 0 && { layers }),
    ...settingsResponse({ ...settings, shadow }),
    factor: modeFactor(settings.mode, factor),
    adaptive: { factor },
    effective: effectiveLimits(policy),
    ...(over !== null && { over }),
    ...(settings.plans !== undefined && { defaultPlan: settings.defaultPlan ?? null }),
    file: settingsResponse(setup.quota),
    changed,
    ...(resting.length > 0 && { resting }),
    categories: policy.categories,
    cheapest: Object.fromEntries(setup.cheapest),
    windowLengths: [...settings.windows],
    warnings: warningsOf(setup, settings, factor),
  }
}

/** Limits into which some request can never fit. In mode `adaptive` those at the lowest factor count, because it can be reached at any time. */
function warningsOf({ priced, adaptive }: View['setup'], settings: QuotaSettings, factor: number): WarningResponse[] {
  return tooDear(createPolicy(settings, Math.min(factor, adaptive.min)), priced)
}

function settingsResponse(settings: View['setup']['quota']): SettingsResponse {
  const { mode, global, baselines, custom, plans, shadow } = settings
  const { enabled, multiplier } = global
  return {
    mode,
    global: { enabled, multiplier },
    baselines: plain(baselines),
    custom: custom === null ? null : plain(custom),
    ...(plans !== undefined && { plans: Object.fromEntries([...plans].map(([name, it]) => [name, planWritten(it)])) }),
    shadow,
  }
}

/** The written limits of a plan. */
export function planWritten({ personal, organisation, over }: PlanLimits): PlanTablesResponse {
  return { personal: written(personal, over?.personal), organisation: written(organisation, over?.organisation) }
}

/** Limits in the form that the API accepts. */
function plain({ personal, global, over }: ScopedLimits): LimitTables {
  return { personal: written(personal, over?.personal), global: written(global, over?.global) }
}

function written(limits: LimitTable, over: LimitTable | undefined): LimitTables['personal'] {
  const valueAt = (category: string, window: string) => valueIn({ limits, over }, category, window) as LimitValue
  return Object.fromEntries(
    [...limits].map(([category, row]) => [
      category,
      Object.fromEntries([...row.keys()].map((window) => [window, valueAt(category, window)])),
    ]),
  )
}
