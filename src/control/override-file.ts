import { csvRow, rowOf } from '../lib/csv.ts'
import { isObject, sameJson } from '../lib/json.ts'
import { jsonFault, memberNamedTwice } from '../lib/json-fault.ts'
import { inSlices, sortedInSlices } from '../lib/slices.ts'
import { limitFrom, limitText } from '../quota/limit-value.ts'
import type { AllOverrides } from './control-store.ts'
import { MOST_LAYERS } from './layers.ts'
import { overridesIn, TOO_MANY } from './override-layers.ts'
import { organisationOverrideFrom, overrideFrom } from './overrides.ts'
import type { Json, Problem } from './problems.ts'
import { categoriesOf, type FileSettings } from './settings.ts'
import type { OrganisationOverride, Packed, UserOverride, Versioned } from './state.ts'
import { isUserId, USER_ID } from './user-id.ts'

/**
 * Overrides as a file of JSON lines, or of CSV with a head. It has one line for the permanent override of a user or organisation, and
 * one for each override with an end above it, oldest first.
 */

export const OVERRIDE_FORMATS = ['ndjson', 'csv'] as const
export type OverrideFormat = (typeof OVERRIDE_FORMATS)[number]

/** The most bytes of a whole file. */
export const MOST_BYTES = 10 * 1024 * 1024
/** The most bytes of one line. */
const MOST_OF_LINE = 16 * 1024
/** After this many problems no more lines are read. */
export const MOST_PROBLEMS = 50

/** What a file sets, by user and by organisation. */
export interface WantedOverrides {
  readonly users: Wanted<UserOverride>
  readonly organisations: Wanted<OrganisationOverride>
}

export type Wanted<T> = ReadonlyMap<string, WantedOverride<T>>

export interface WantedOverride<T> {
  /** The number of the first line about this owner. */
  readonly line: number
  /** In the order of the lines. At most one is without an end. */
  readonly all: readonly T[]
}

/** The owner in a line. */
export type Whose = { readonly user: string } | { readonly organisation: string }

/** A line whose end has passed, which is ignored. */
export type EndedLine = Whose & {
  readonly line: number
  /** ISO 8601. */
  readonly expiresAt: string
}

/** A file without problems. */
export interface OverrideFile {
  readonly wanted: WantedOverrides
  readonly ended: readonly EndedLine[]
}

export interface OverrideFileOptions {
  readonly format: OverrideFormat
  readonly file: FileSettings
  /** The store's time, in milliseconds since the epoch. */
  readonly now: number
  /** The stored overrides. A line with one of them is always accepted, so that a written file can be read again. */
  readonly stored: AllOverrides
}

/** Reads a file, with the event loop free in between. Any problem makes the whole file invalid. */
export async function readOverrides(
  bytes: Buffer,
  options: OverrideFileOptions,
): Promise<OverrideFile | { readonly problems: readonly Problem[] }> {
  const reading = options.format === 'csv' ? csvLines(options) : jsonLines
  const wanted = { users: gathering<UserOverride>(), organisations: gathering<OrganisationOverride>() }
  const ended: EndedLine[] = []
  const problems: Problem[] = []
  const slices = inSlices()
  for (const [line, text] of linesOf(bytes)) {
    if (slices.isOver()) await slices.next()
    const problemAt = ({ path, msg }: Problem): Problem => ({
      path: path ? `line ${line}, ${path}` : `line ${line}`,
      msg,
    })
    const read = typeof text === 'string' ? overrideOf(reading(text), options) : [text]
    if (read === null) continue
    if (Array.isArray(read)) problems.push(...read.map(problemAt))
    else if (isOver(read, options.now)) ended.push({ line, ...whose(read), expiresAt: isoOf(read.override.expiresAt) })
    else {
      const { kind, id } = read
      const msg =
        kind === 'user'
          ? wanted.users.take(line, id, read.override)
          : wanted.organisations.take(line, id, read.override)
      if (msg !== null) problems.push(problemAt({ path: kind, msg }))
    }
    if (problems.length < MOST_PROBLEMS) continue
    return {
      problems: [...problems.slice(0, MOST_PROBLEMS), { path: '', msg: 'the lines after these were not looked at' }],
    }
  }
  if (problems.length > 0) return { problems }
  return { wanted: { users: wanted.users.taken, organisations: wanted.organisations.taken }, ended }
}

/** Collects the lines of each owner. `take` returns the problem that a line has together with earlier lines; `null` for none. */
function gathering<T extends OrganisationOverride>() {
  const taken = new Map<string, { readonly line: number; readonly all: T[] }>()

  function take(line: number, id: string, override: T): string | null {
    const before = taken.get(id)
    if (before === undefined) taken.set(id, { line, all: [override] })
    else if (before.all.some(({ expiresAt }) => expiresAt === override.expiresAt))
      return `stands on line ${before.line} already: keep one, or give it another end by expiresAt`
    // One of them may have no end, and so is no layer above the others.
    else if (before.all.length > MOST_LAYERS) return TOO_MANY.msg
    else before.all.push(override)
    return null
  }

  return { taken, take }
}

/** A line that was read. */
type Line =
  | { readonly kind: 'user'; readonly id: string; readonly override: UserOverride }
  | { readonly kind: 'organisation'; readonly id: string; readonly override: OrganisationOverride }

function whose({ kind, id }: Line): Whose {
  return kind === 'user' ? { user: id } : { organisation: id }
}

function isOver({ override: { expiresAt } }: Line, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}

function isoOf(ms: number | null): string {
  return new Date(ms ?? 0).toISOString()
}

/** Number and text of each line that is not empty; a problem for a line that is too long or not UTF-8. */
export function* linesOf(bytes: Buffer): Generator<[line: number, text: string | Problem]> {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  for (let [at, line] = [0, 1]; at < bytes.length; line++) {
    const found = bytes.indexOf(0x0a, at)
    const end = found === -1 ? bytes.length : found
    const text = textOf(bytes.subarray(at, end), utf8)
    if (typeof text !== 'string' || text.trim() !== '') yield [line, text]
    at = end + 1
  }
}

function textOf(bytes: Uint8Array, utf8: TextDecoder): string | Problem {
  if (bytes.length > MOST_OF_LINE)
    return { path: '', msg: `has ${bytes.length} bytes: a line has at most ${MOST_OF_LINE}` }
  try {
    return utf8.decode(bytes).replace(/\r$/, '')
  } catch {
    return { path: '', msg: 'is no UTF-8: save the file as UTF-8' }
  }
}

/** The owner and the fields of an override. `null` for a line without one, which is the head. */
type Read = { readonly user: unknown; readonly organisation: unknown; readonly fields: Json } | Problem[] | null

function jsonLines(text: string): Read {
  const read = jsonLine(text)
  if ('problems' in read) return read.problems
  const { user, organisation, ...fields } = read.value
  return { user, organisation, fields }
}

/** Reads a line that must be a JSON object. */
export function jsonLine(text: string): { readonly value: Record<string, unknown> } | { readonly problems: Problem[] } {
  const fault = jsonFault(text)
  if (fault !== null) return { problems: [{ path: '', msg: fault.replace(/^line 1, /, '') }] }
  const twice = memberNamedTwice(text)
  if (twice !== null) return { problems: [{ path: twice, msg: 'is here twice: keep one' }] }
  const value: unknown = JSON.parse(text)
  return isObject(value) ? { value } : { problems: [{ path: '', msg: 'must be a JSON object, one on each line' }] }
}

function overrideOf(read: Read, { file, stored }: OverrideFileOptions): Line | Problem[] | null {
  if (read === null || Array.isArray(read)) return read
  const { user, organisation, fields } = read
  if (user !== undefined && organisation !== undefined) {
    return [{ path: 'organisation', msg: 'stands beside a user: a line is about one of them' }]
  }
  const kind = organisation === undefined ? 'user' : 'organisation'
  const id = organisation ?? user
  if (!isUserId(id)) {
    const whose = kind === 'user' ? 'a user id' : 'the id of an organisation'
    return [{ path: kind, msg: `must be ${whose}: ${USER_ID}` }]
  }
  const [of, from] =
    kind === 'user' ? [stored.overrides, overrideFrom] : [stored.organisationOverrides, organisationOverrideFrom]
  const override = oneOf<UserOverride | OrganisationOverride>(fields, of.get(id), (body) =>
    from(body, file, Number.NEGATIVE_INFINITY),
  )
  return Array.isArray(override) ? override : ({ kind, id, override } as Line)
}

/** @param read accepts an override that has ended, because the caller lists such lines */
function oneOf<T extends UserOverride | OrganisationOverride>(
  fields: Json,
  stored: Versioned<Packed<T>> | undefined,
  read: (body: Json) => { readonly override: T } | { readonly problems: readonly Problem[] },
): T | Problem[] {
  const known = overridesIn(stored?.value).find((one) => sameJson(fields, fieldsOf(one)))
  if (known !== undefined) return known
  const made = read(fields)
  return 'problems' in made ? [...made.problems] : made.override
}

const TEXTS = ['plan', 'within', 'reason', 'expiresAt'] as const
const FLAGS = ['bypassGlobal', 'shadow'] as const
const NUMBERS = ['factor', 'periodDay'] as const
/** The fields of an override beside its categories, in the admin API and in files. */
export const FIXED_FIELDS = ['user', 'organisation', ...NUMBERS, 'plan', 'within', ...FLAGS, 'reason', 'expiresAt']

/** The first line is the head. Columns may be in any order, and an empty cell is a missing value. */
function csvLines({ file, stored }: OverrideFileOptions): (text: string) => Read {
  const limits = limitColumns(file, stored)
  const most = FIXED_FIELDS.length + limits.size
  let head: readonly string[] | null = null

  return function read(text) {
    const row = rowOf(text, most)
    if ('problem' in row) return [{ path: '', msg: row.problem }]
    const { cells } = row
    if (head === null) {
      head = cells
      const problems = problemsOfHead(cells, limits, most)
      return problems.length > 0 ? problems : null
    }
    if (cells.length > head.length) return [{ path: '', msg: `has more cells than the head, which has ${head.length}` }]
    return rowFields(head, cells, limits)
  }
}

/** Category and window by the name of a column: all of the configuration, and those that stored overrides have. */
function limitColumns(file: FileSettings, stored: AllOverrides): Map<string, readonly [string, string]> {
  const columns = new Map<string, readonly [string, string]>()
  for (const category of categoriesOf(file)) {
    for (const { name } of file.windows) columns.set(`${category}.${name}`, [category, name])
  }
  for (const [category, window] of placesIn(stored)) columns.set(`${category}.${window}`, [category, window])
  return columns
}

function problemsOfHead(head: readonly string[], limits: ReadonlyMap<string, unknown>, most: number): Problem[] {
  if (head.length > most)
    return [{ path: '', msg: `the head has more than ${most} columns, which is all that there are` }]
  const unknown = head.filter((name) => !FIXED_FIELDS.includes(name) && !limits.has(name))
  const twice = head.filter((name, i) => head.indexOf(name) < i)
  const who = head.includes('organisation') ? [] : ['user']
  const missing = [...who, 'reason'].filter((name) => !head.includes(name))
  const known = [...FIXED_FIELDS, ...limits.keys()].slice(0, 40).join(', ')
  return [
    ...unknown
      .slice(0, 5)
      .map((name) => ({ path: '', msg: `unknown column ${JSON.stringify(name.slice(0, 60))}: there are ${known}` })),
    ...twice.slice(0, 5).map((name) => ({ path: '', msg: `column ${name.slice(0, 60)} is here twice: keep one` })),
    ...missing.map((name) => ({ path: '', msg: `the head has no column ${name}: the first line names the columns` })),
  ]
}

function rowFields(
  head: readonly string[],
  cells: readonly string[],
  limits: ReadonlyMap<string, readonly [string, string]>,
): Read {
  const given = new Map(head.map((name, i) => [name, cells[i] ?? '']))
  const rows = new Map<string, [string, unknown][]>()
  for (const [column, [category, window]] of limits) {
    const cell = given.get(column) ?? ''
    if (cell !== '') rows.set(category, [...(rows.get(category) ?? []), [window, limitFrom(cell) ?? numberOf(cell)]])
  }
  const texts = TEXTS.map((name): [string, unknown] => [name, given.get(name) ?? ''])
  const flags = FLAGS.map((name): [string, unknown] => [name, flagOf(given.get(name) ?? '')])
  const tables = [...rows].map(([category, row]): [string, unknown] => [category, Object.fromEntries(row)])
  const numbers = NUMBERS.map((name): [string, unknown] => [name, numberOf(given.get(name) ?? '')])
  const fields = [...tables, ...numbers, ...texts, ...flags].filter(([, value]) => value !== '')
  const idOf = (column: string) => given.get(column) || undefined
  return { user: idOf('user'), organisation: idOf('organisation'), fields: Object.fromEntries(fields) }
}

/** Text that is no number stays a text, so that the check can say what it must be. */
function numberOf(cell: string): number | string {
  return /^[0-9]{1,15}(\.[0-9]{1,6})?$/.test(cell) ? Number(cell) : cell
}

/** Spreadsheets write flags in capitals. A flag that is off counts as missing. */
function flagOf(cell: string): boolean | string {
  if (/^true$/i.test(cell)) return true
  return /^false$/i.test(cell) ? '' : cell
}

/** The fields of an override in a line, without its owner. */
export function fieldsOf(override: UserOverride | OrganisationOverride): Json {
  const { limits, factor, periodDay, plan, within, bypassGlobal, shadow, reason, expiresAt } = override as UserOverride
  return {
    ...limits,
    ...(factor !== undefined && { factor }),
    ...(periodDay !== undefined && { periodDay }),
    ...(plan !== undefined && { plan }),
    ...(within !== undefined && { within }),
    ...(bypassGlobal === true && { bypassGlobal }),
    ...(shadow === true && { shadow }),
    reason,
    ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
  }
}

/**
 * The file in parts, with users first and organisations after them, and with the event loop free in between. Ended overrides are left
 * out.
 * @param now the store's time
 */
export async function* writeOverrides(
  stored: AllOverrides,
  format: OverrideFormat,
  file: FileSettings,
  now: number,
): AsyncGenerator<string, void> {
  const slices = inSlices()
  const columns = format === 'csv' ? usedColumns(limitColumns(file, stored), stored) : new Map()
  let some = format === 'csv' ? [csvRow([...FIXED_FIELDS, ...columns.keys()])] : []
  const { overrides, organisationOverrides } = stored
  for (const [kind, of] of [
    ['user', overrides],
    ['organisation', organisationOverrides],
  ] as const) {
    for (const id of await sortedInSlices([...of.keys()], slices)) {
      for (const one of overridesIn<UserOverride | OrganisationOverride>(of.get(id)?.value)) {
        if (one.expiresAt !== null && one.expiresAt <= now) continue
        some.push(format === 'csv' ? csvLine(kind, id, one, columns) : JSON.stringify({ [kind]: id, ...fieldsOf(one) }))
      }
      if (some.length < AT_ONCE) continue
      yield textOfLines(some)
      some = []
      if (slices.isOver()) await slices.next()
    }
  }
  if (some.length > 0) yield textOfLines(some)
}

const AT_ONCE = 200

function textOfLines(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function* placesIn({ overrides, organisationOverrides }: AllOverrides): Generator<[category: string, window: string]> {
  for (const { value } of overrides.values()) yield* placesOf(overridesIn(value))
  for (const { value } of organisationOverrides.values()) yield* placesOf(overridesIn(value))
}

function* placesOf(all: readonly Pick<UserOverride, 'limits'>[]): Generator<[category: string, window: string]> {
  for (const { limits } of all) {
    for (const [category, row] of Object.entries(limits)) {
      for (const window of Object.keys(row)) yield [category, window]
    }
  }
}

type Columns = ReadonlyMap<string, readonly [string, string]>

function usedColumns(columns: Columns, stored: AllOverrides): Columns {
  const used = new Set<string>()
  for (const [category, window] of placesIn(stored)) used.add(`${category}.${window}`)
  return new Map([...columns].filter(([name]) => used.has(name)))
}

function csvLine(
  kind: 'user' | 'organisation',
  id: string,
  override: UserOverride | OrganisationOverride,
  columns: Columns,
): string {
  const fields = fieldsOf(override)
  const fixed = FIXED_FIELDS.slice(2).map((name) => String(fields[name] ?? ''))
  const cells = [...columns.values()].map(([category, window]) => {
    const row = Object.hasOwn(override.limits, category) ? (override.limits[category] ?? {}) : {}
    const value = Object.hasOwn(row, window) ? row[window] : undefined
    return value === undefined ? '' : limitText(value)
  })
  return csvRow([kind === 'user' ? id : '', kind === 'user' ? '' : id, ...fixed, ...cells])
}
