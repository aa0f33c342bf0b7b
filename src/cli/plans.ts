import { reachOfPatch, vainIn } from '../admin/reach.ts'
import { tooDear } from '../admin/too-dear.ts'
import { parseData } from '../config/plain-data.ts'
import { COMMAND_LINE, type Vain } from '../control/control-store.ts'
import { SETTINGS } from '../control/forms.ts'
import { packedOf, type Stack, set, stackOf } from '../control/layers.ts'
import { leavesOfPatch } from '../control/leaves.ts'
import { jsonLine } from '../control/override-file.ts'
import { type PlanChange, patchOf, planChanges, planProblems, plansIn } from '../control/plan-file.ts'
import { reason as checkReason, type Json } from '../control/problems.ts'
import { applyPatch, PLAN_SCOPES, resolve } from '../control/settings.ts'
import { type Changes, type Packed, storedOf } from '../control/state.ts'
import { counted } from '../lib/counted.ts'
import { memberNamedTwice } from '../lib/json-fault.ts'
import { type LimitValue, limitText, valueIn } from '../quota/limit-value.ts'
import { createPolicy, type PlanLimits } from '../quota/policy.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, nameOf, openingOf, withStore } from './config.ts'
import { CONFIG_OPTION, type Given, readArguments } from './config-option.ts'
import { deskOf, follower } from './desk.ts'
import { readFile, TRIES, withProblems } from './overrides.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = {
  ...CONFIG_OPTION,
  file: { type: 'string', short: 'f' },
  json: { type: 'boolean' },
  merge: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'allow-empty': { type: 'boolean' },
  reason: { type: 'string' },
} as const

/** Lists limits of plans in the store and changes them, even without a running gateway. */
export async function plans(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  const { config, ...options } = values
  const work = workOf(positionals, options)
  const isLook = work === list || options['dry-run'] === true
  return withStore(config, openingOf(isLook), (store, loaded) => work(store, loaded, options))
}

type Options = Given<typeof OPTIONS>
type Work = (store: Store, loaded: Loaded, options: Options) => Promise<number>

function workOf([action, ...rest]: readonly string[], options: Options): Work {
  if (action !== 'apply' && action !== 'list') throw new UsageError('plans takes apply or list')
  if (rest[0] !== undefined) throw new UsageError(`plans ${action} does not take "${rest[0]}"`)
  const unused = Object.keys(options).find((name) => (name === 'json') === (action === 'apply'))
  if (unused !== undefined) throw new UsageError(`plans ${action} does not take --${unused}`)
  if (action === 'list') return list
  if (options.file === undefined) throw new UsageError('plans apply needs -f FILE')
  const [problem] = options.reason === undefined ? [] : checkReason(options.reason, '')
  if (problem !== undefined) throw new UsageError(`--reason ${problem.msg}`)
  return apply
}

/** Prints the limits of each plan, with the configuration's value where it differs; or those set at run time, as `apply` reads them. */
async function list(store: Store, { config: { quota } }: Loaded, { json = false }: Options): Promise<number> {
  const state = await follower(store).fresh()
  if (json) {
    const { plans = {} } = permanentIn(stackOf(SETTINGS, storedOf(state).settings.value))
    console.log(JSON.stringify({ plans }))
    return 0
  }
  const shown = (value: LimitValue | undefined) => (value === undefined ? 'not set' : limitText(value))
  for (const [plan, limits] of resolve(quota, state.settings.value).settings.plans ?? []) {
    const rows = PLAN_SCOPES.flatMap((scope) =>
      [...limits[scope]].flatMap(([category, row]) =>
        [...row.keys()].map((window) => {
          const [now, file] = [limits, quota.plans?.get(plan)].map(
            (of) => of && shown(writtenOf(of, scope, category, window)),
          )
          return [plan, scope, category, window, now, ...(file === now ? [] : [`file: ${file}`])]
        }),
      ),
    )
    for (const row of rows.length > 0 ? rows : [[plan, 'as the baselines']]) console.log(row.join('\t'))
  }
  return 0
}

function writtenOf(
  of: PlanLimits,
  scope: (typeof PLAN_SCOPES)[number],
  category: string,
  window: string,
): LimitValue | undefined {
  return valueIn({ limits: of[scope], over: of.over?.[scope] }, category, window)
}

function permanentIn({ permanent }: Stack): Changes {
  return SETTINGS.valueOf(permanent) as Changes
}

async function apply(store: Store, loaded: Loaded, options: Options): Promise<number> {
  const { file = '', merge = false, 'dry-run': isDry = false } = options
  const { quota } = loaded.config
  const read = readPlans(file)
  const problems = 'problems' in read ? read.problems : planProblems(read.plans, quota)
  if ('problems' in read || problems.length > 0) return withProblems(problems, file)
  if (leavesOfPatch({ plans: read.plans } as object).length === 0 && !merge && options['allow-empty'] !== true) {
    console.error(
      `${file}: sets no limit, so nothing was changed. Add --allow-empty if all plans are to follow the configuration.`,
    )
    return 1
  }
  const vain = await warn(store, loaded, read.plans, options)
  const changes = await putInForce(store, read.plans, options, vain)
  if (changes === null) {
    console.error('tollgate: others change something all the time: nothing was changed, try again')
    return 1
  }
  for (const { path, from, to } of changes) {
    console.log(`${path.join('.')}: ${changedText(from)} -> ${changedText(to)}`)
  }
  const what = `${counted(changes.length, 'limit')} of plans changed in ${nameOf(loaded.config.store.location)}`
  console.log(isDry ? `would be ${what}` : what)
  return 0
}

function changedText(value: unknown): string {
  return value === null ? 'as in the configuration' : limitText(value as LimitValue)
}

/** Reads JSON lines if the name of the file ends in .ndjson or .jsonl, else one document of YAML or JSON. */
function readPlans(file: string): ReturnType<typeof plansIn> {
  const text = readFile(file).toString()
  if (/\.(?:ndjson|jsonl)$/.test(file)) return fromLines(text)
  const twice = /^\s*[{[]/.test(text) ? memberNamedTwice(text) : null
  if (twice !== null) return { problems: [{ path: twice, msg: 'is here twice: keep one' }] }
  const read = parseData(text, 'plans: { free: { personal: { read: { 1h: 60 } } } }')
  return 'problem' in read ? { problems: [{ path: '', msg: read.problem }] } : plansIn(read.value)
}

function fromLines(text: string): ReturnType<typeof plansIn> {
  const read = text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ line: i + 1, ...jsonLine(line) }]))
  const problems = read.flatMap((each) =>
    'problems' in each
      ? each.problems.map(({ path, msg }) => ({ path: `line ${each.line}${path && `, ${path}`}`, msg }))
      : [],
  )
  return problems.length > 0 ? { problems } : plansIn(read.flatMap((each) => ('value' in each ? [each.value] : [])))
}

/** @returns `null` if others came first each time */
async function putInForce(
  store: Store,
  wanted: Json,
  { merge = false, reason, 'dry-run': isDry = false }: Options,
  vain: Vain | undefined,
): Promise<readonly PlanChange[] | null> {
  const author = { who: COMMAND_LINE, why: reason ?? null, ...(vain && { vain }) }
  const control = follower(store)
  for (let tries = 0; tries < TRIES; tries++) {
    const { settings } = storedOf(await control.fresh())
    const stack = stackOf(SETTINGS, settings.value)
    const changes = planChanges(wanted, permanentIn(stack), merge)
    if (isDry || changes.length === 0) return changes
    const { at } = await store.controlVersion()
    const layer = { id: COMMAND_LINE, from: null, until: null, who: COMMAND_LINE, why: reason ?? null }
    const after = set(stack, { ...layer, leaves: leavesOfPatch(patchOf(changes)) }, at)
    const to = (packedOf(SETTINGS, after) ?? {}) as Packed<Changes>
    if ((await store.change({ kind: 'settings', to }, author, settings.version)).done) return changes
  }
  return null
}

/** Prints which values nobody follows, and into which limits some request never fits. @returns the part for the audit */
async function warn(
  store: Store,
  loaded: Loaded,
  wanted: Json,
  { file = '', merge = false }: Options,
): Promise<Vain | undefined> {
  const desk = await deskOf(loaded, store)
  const { priced, quota } = desk.setup()
  const state = await desk.control.fresh()
  const changes = planChanges(wanted, permanentIn(stackOf(SETTINGS, storedOf(state).settings.value)), merge)
  const patch = patchOf(changes)
  const reach = await reachOfPatch(desk, state, patch)
  for (const { path, why } of reach.unfollowed) {
    console.error(`${file}: ${path}: warning: nobody follows this value: ${why}`)
  }
  const named = new Set(changes.map(({ path }) => path[1]))
  const next = resolve(quota, applyPatch(state.settings.value, patch)).settings
  for (const { plan, msg } of tooDear(createPolicy(next), priced)) {
    if (named.has(plan)) console.error(`${file}: warning: ${msg}`)
  }
  return vainIn(reach)
}
