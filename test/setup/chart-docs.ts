/**
 * What is made of the comments in helm/values.yaml: helm/values.schema.json and the table of helm/README.md. A line "# --"
 * above a key, with the comment lines after it, says what the value means; "# @schema {…}" adds to the type that its default
 * shows, and "# @former NAME" lets the schema take a former name, so that a template can name the cure. The value `config` has
 * Tollgate's own schema. `node test/setup/chart-docs.ts` writes both; test/config/chart-schema.test.ts and
 * test/deploy/helm.test.ts hold them against the files.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

export interface Value {
  readonly path: readonly string[]
  /** Empty if there is none, which is a fault for all but the objects of ours. */
  readonly description: string
  readonly schema: Readonly<Record<string, unknown>>
  readonly initial: unknown
  /** The name that it had, if it had another one. */
  readonly former: string | null
  /** An object of ours: its keys are values themselves. */
  readonly isSection: boolean
}

const CHART = new URL('../../helm/', import.meta.url)
const TABLE = /(<!-- values -->\n)[\s\S]*(<!-- \/values -->)/

export function readValues(text = readFileSync(new URL('values.yaml', CHART), 'utf8')): Value[] {
  const values = parse(text)
  const found: Value[] = []
  const parents: string[] = []
  let comment: string[] = []
  for (const line of text.split('\n')) {
    const [, indent = '', said, key] = /^( *)(?:# ?(.*)|([\w.-]+):.*)$/.exec(line) ?? []
    if (said !== undefined) comment.push(said)
    if (key !== undefined && isWithinSection(found, parents, indent.length / 2)) {
      parents.splice(indent.length / 2, Infinity, key)
      found.push(describedValue([...parents], comment, values))
    }
    if (said === undefined) comment = []
  }
  return found
}

/** Keys below a value that is documented as a whole, like `resources`, are not ours. */
function isWithinSection(found: readonly Value[], parents: readonly string[], depth: number): boolean {
  if (depth === 0) return true
  const above = parents.slice(0, depth).join('.')
  return depth <= parents.length && found.some(({ path, isSection }) => isSection && path.join('.') === above)
}

function describedValue(path: string[], comment: readonly string[], values: unknown): Value {
  const initial = path.reduce((value, key) => (value as Record<string, unknown>)[key], values)
  const start = comment.findIndex((line) => line.startsWith('-- '))
  const words = start === -1 ? [] : comment.slice(start).filter((line) => !line.startsWith('@'))
  const schema = comment.find((line) => line.startsWith('@schema '))?.slice('@schema '.length)
  const isMap = typeof initial === 'object' && initial !== null && !Array.isArray(initial)
  return {
    path,
    description: words.join(' ').replace(/^-- /, ''),
    schema: schema === undefined ? {} : JSON.parse(schema),
    initial,
    former: comment.find((line) => line.startsWith('@former '))?.slice('@former '.length) ?? null,
    isSection: isMap && schema === undefined && Object.keys(initial).length > 0,
  }
}

/** JSON Schema, draft 2020-12. @param own that of tollgate.yaml */
export function valuesSchema(values: readonly Value[], own = readOwnSchema()): object {
  const { properties, ...rest } = section(values, [])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Values of the chart tollgate',
    ...rest,
    properties: { ...properties, config: { ...properties.config, ...partOf(own) } },
    $defs: own.$defs,
  }
}

interface OwnSchema {
  readonly properties: object
  readonly $defs: object
}

function readOwnSchema(): OwnSchema {
  const text = readFileSync(new URL('../../config/tollgate.schema.json', import.meta.url), 'utf8')
  return JSON.parse(text, (key, value) => (key === 'pattern' && FOREIGN.test(value) ? undefined : value))
}

/** Patterns that Helm, which is written in Go, refuses: a repetition above 1000, a look around. */
const FOREIGN = /\{(?:\d*,)?\d{4,}\}|\(\?[=!<]/

/** Without what the whole needs: the chart adds that of other values. */
function partOf({ properties }: OwnSchema): object {
  return { properties, additionalProperties: false }
}

interface Section {
  readonly required?: readonly unknown[]
  readonly properties: Readonly<Record<string, object>>
}

function section(values: readonly Value[], path: readonly string[]): Section {
  const children = values.filter(
    (value) => value.path.length === path.length + 1 && path.every((key, i) => value.path[i] === key),
  )
  const properties = children.flatMap((child) => {
    const name = child.path.at(-1)
    const own = [name, child.isSection ? section(values, child.path) : leaf(child)]
    const { former } = child
    return former === null ? [own] : [own, [former, { description: `Now ${name}; refused`, deprecated: true }]]
  })
  // Helm takes away what is null: templates that look into a section, or choose by a boolean, would fail without its name.
  const needed = children.filter(({ isSection, initial }) => isSection || typeof initial === 'boolean')
  const required = needed.map((child) => child.path.at(-1))
  const all = { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
  return required.length === 0 ? all : { ...all, required }
}

function leaf({ description, initial, schema }: Value): object {
  const type = 'enum' in schema ? {} : { type: typeOf(initial) }
  return { description, ...type, ...schema }
}

function typeOf(initial: unknown): string {
  if (Array.isArray(initial)) return 'array'
  return Number.isInteger(initial) ? 'integer' : typeof initial
}

/** As the formatter of this repository wants it: lists of plain values in one line where they fit. */
export function printSchema(schema: object): string {
  const lines = JSON.stringify(schema, null, 2)
  const fitting = lines.replace(/^( *)(.*)\[\n([^[\]{}]*?)\n *\](,?)$/gm, (whole, indent, before, items, comma) => {
    const line = `${indent}${before}[${items.trim().replace(/,\n */g, ', ')}]${comma}`
    return line.length <= 120 ? line : whole
  })
  return `${fitting}\n`
}

/** A table in Markdown. */
export function valuesTable(values: readonly Value[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const rows = values
    .filter(({ isSection }) => !isSection)
    .map(({ path, initial, description }) => {
      return `| \`${path.join('.')}\` | \`${cell(JSON.stringify(initial))}\` | ${cell(description)} |`
    })
  return ['| Value | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/** The text of a README with the table in its place. */
export function withTable(readme: string, table: string): string {
  return readme.replace(TABLE, (_, begin: string, end: string) => `${begin}${table}${end}`)
}

if (import.meta.main) {
  const values = readValues()
  writeFileSync(new URL('values.schema.json', CHART), printSchema(valuesSchema(values)))
  const readme = new URL('README.md', CHART)
  writeFileSync(readme, withTable(readFileSync(readme, 'utf8'), valuesTable(values)))
}
