import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { inForceOf } from '../admin/state.ts'
import { tooDearLines } from '../admin/too-dear.ts'
import { unseenLines } from '../admin/unseen.ts'
import { setupOf } from '../app/admin-plane.ts'
import { COMMAND_LINE } from '../control/control-store.ts'
import { inForce, NOTHING_CHANGED } from '../control/in-force.ts'
import {
  changesNothing,
  type FileChanges,
  type Largeness,
  overrideChanges,
  stageChanges,
  tooLarge,
} from '../control/override-changes.ts'
import {
  MOST_BYTES,
  OVERRIDE_FORMATS,
  type OverrideFormat,
  readOverrides,
  type WantedOverrides,
  writeOverrides,
} from '../control/override-file.ts'
import { reason as checkReason, type Problem } from '../control/problems.ts'
import { type ControlState, storedOf } from '../control/state.ts'
import { messageOf } from '../errors.ts'
import { counted } from '../lib/counted.ts'
import { print } from '../lib/print.ts'
import type { Store } from '../store/store.ts'
import { type Loaded, nameOf, openingOf, withStore } from './config.ts'
import { CONFIG_OPTION, type Given, readArguments } from './config-option.ts'
import { follower } from './desk.ts'
import { printUnseen } from './unseen.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = {
  ...CONFIG_OPTION,
  file: { type: 'string', short: 'f' },
  format: { type: 'string' },
  merge: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'allow-empty': { type: 'boolean' },
  'max-removed': { type: 'string' },
  reason: { type: 'string' },
} as const

/** Prints the overrides of users and organisations, or puts those of a file in force, even without a running gateway. */
export async function overrides(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS)
  const { config, ...options } = values
  const work = workOf(positionals, options)
  const isLook = work === exportAll || options['dry-run'] === true
  return withStore(config, openingOf(isLook), (store, loaded) => work(store, loaded, options))
}

type Options = Given<typeof OPTIONS>
type Work = (store: Store, loaded: Loaded, options: Options) => Promise<number>

function workOf([action, ...rest]: readonly string[], options: Options): Work {
  if (rest[0] !== undefined) throw new UsageError(`overrides ${action} does not take "${rest[0]}"`)
  formatOf(options)
  if (action === 'apply') {
    if (options.file === undefined) throw new UsageError('overrides apply needs -f FILE')
    const [problem] = options.reason === undefined ? [] : checkReason(options.reason, '')
    if (problem !== undefined) throw new UsageError(`--reason ${problem.msg}`)
    const { 'max-removed': most } = options
    if (most !== undefined && !/^\d{1,9}$/.test(most)) throw new UsageError('--max-removed takes a number')
    return apply
  }
  if (action !== 'export') throw new UsageError('overrides takes apply or export')
  const [unused] = Object.keys(options).filter((name) => name !== 'format')
  if (unused !== undefined) throw new UsageError(`overrides export does not take --${unused}`)
  return exportAll
}

/** The format that `--format` names. Without it, the name of the file decides. */
function formatOf({ format, file = '' }: Options): OverrideFormat {
  if (format === undefined) return file.endsWith('.csv') ? 'csv' : 'ndjson'
  const known = OVERRIDE_FORMATS.find((each) => each === format)
  if (known === undefined) throw new UsageError(`--format takes ${OVERRIDE_FORMATS.join(' or ')}`)
  return known
}

async function exportAll(store: Store, { config }: Loaded, options: Options): Promise<number> {
  const { at } = await store.controlVersion()
  const stored = storedOf(await follower(store).fresh())
  for await (const text of writeOverrides(stored, formatOf(options), config.quota, at)) {
    await print(text)
    // A reader like head that has stopped reading has seen enough.
    if (process.stdout.destroyed) break
  }
  return 0
}

async function apply(store: Store, loaded: Loaded, options: Options): Promise<number> {
  const { config } = loaded
  const bytes = readFile(options.file ?? '')
  const control = follower(store)
  const stored = storedOf(await control.fresh())
  const { at: now } = await store.controlVersion()
  const read = await readOverrides(bytes, { format: formatOf(options), file: config.quota, now, stored })
  if ('problems' in read) return withProblems(read.problems, options.file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  for (const { line, expiresAt, ...whose } of read.ended.slice(0, 100)) {
    const [id] = Object.values(whose)
    console.error(
      `${options.file}: line ${line}: warning: the override of ${id} ended ${expiresAt}, so the line counts as none`,
    )
  }
  const changes = await putInForce(store, () => control.fresh(), read.wanted, options, { sha256, at: now })
  if (changes === null) {
    console.error('tollgate: others change something all the time: nothing was changed, try again')
    return 1
  }
  if (changes.problems.length > 0) return withProblems(changes.problems, options.file)
  const { large } = changes
  if (large !== null) {
    const option = large.word === 'allow_empty' ? '--allow-empty' : '--max-removed with the number'
    const what = options['dry-run'] === true ? 'it would be refused' : 'nothing was changed'
    console.error(`${options.file}: ${large.msg}: ${what}. Add ${option} if that is meant.`)
    if (options['dry-run'] !== true) return 1
  }
  await warn(loaded, await control.fresh(), changes, read.wanted, options.file ?? '')
  await printUnseen(() => unseenLines(store, read.wanted, stored), `${options.file}: warning: `)
  console.log(summary(changes, options, nameOf(config.store.location)))
  return large === null ? 0 : 1
}

/** Prints what is wrong with a file. @returns the exit code */
export function withProblems(problems: readonly Problem[], file = ''): number {
  for (const { path, msg } of problems) console.error(`${file}: ${path === '' ? '' : `${path}: `}${msg}`)
  return 1
}

/** @throws Error with the name of the file */
export function readFile(file: string): Buffer {
  try {
    if (statSync(file).size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`)
    return readFileSync(file)
  } catch (error) {
    throw new Error(`cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** How often to try again if others make changes at the same time. */
export const TRIES = 20

/** @returns `null` if others came first each time */
async function putInForce(
  store: Store,
  fresh: () => Promise<ControlState>,
  wanted: WantedOverrides,
  options: Options,
  { sha256, at }: { readonly sha256: string; readonly at: number },
): Promise<(FileChanges & { readonly large: Largeness | null }) | null> {
  const { merge = false, reason = '', 'dry-run': isDry = false, 'max-removed': most } = options
  const allowed = { empty: options['allow-empty'] === true, removed: most === undefined ? null : Number(most) }
  const author = { who: COMMAND_LINE, why: reason === '' ? null : reason }
  for (let tries = 0; tries < TRIES; tries++) {
    const wished = await overrideChanges(storedOf(await fresh()), wanted, merge, COMMAND_LINE, at)
    const changes = { ...wished, large: tooLarge(wished, wanted, merge, allowed) }
    if (isDry || changes.large !== null || changes.problems.length > 0 || changesNothing(changes)) return changes
    const change = await stageChanges(store, changes, { merge, sha256 })
    if ((await store.change(change, author, null)).done) return changes
  }
  return null
}

async function warn(
  { config }: Loaded,
  state: ControlState,
  { next }: FileChanges,
  wanted: WantedOverrides,
  file: string,
): Promise<void> {
  const setup = setupOf(config)
  const stored = { ...storedOf(state), ...next }
  const { policy } = inForceOf(setup, inForce(stored, NOTHING_CHANGED, Date.now()).state, 1)
  const { lines, count } = await tooDearLines(policy, wanted, setup)
  for (const { line, msg } of lines) console.error(`${file}: line ${line}: warning: ${msg}`)
  if (count > lines.length) console.error(`${file}: ${counted(count, 'line has', 'lines have')} such a warning`)
}

function summary({ counts, ends, next }: FileChanges, { 'dry-run': isDry = false }: Options, store: string): string {
  const { added, changed, removed, unchanged } = counts
  const what = `${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged: ${next.overrides.size + next.organisationOverrides.size} overrides`
  const some = ends.added + ends.dropped > 0
  const all = some ? `${what}, ${counted(ends.added, 'end', 'ends')} added and ${ends.dropped} dropped` : what
  return isDry ? `would be ${all} in ${store}` : `${all} in ${store}`
}
