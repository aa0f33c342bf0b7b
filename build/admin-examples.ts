import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EndedSessions } from '../src/admin/ended-sessions.ts'
import { type AdminOptions, routesOf } from '../src/admin/listener.ts'
import { Login } from '../src/admin/login.ts'
import { PARTS } from '../src/admin/openapi.ts'
import { EXAMPLES } from '../src/contract/examples.ts'

/**
 * Writes `docs/admin-api-examples.md`, a request and a response of every route of the admin API, from its OpenAPI document:
 * `node build/admin-examples.ts`.
 */

const PAGE = fileURLToPath(new URL('../docs/admin-api-examples.md', import.meta.url))

const HEAD = `# Examples of the admin API

For whoever writes a script: one request and its response for each route of [the admin API](admin-api.md).
\`/openapi.json\` has the same examples. All of them show one gateway on one day.

Send \`Authorization: Bearer TOKEN\` with every request, unless its section says that it needs no credential.
A body is JSON, and is sent with \`Content-Type: application/json\`, unless the example shows another type.
`

const JSON_TYPE = 'application/json'

interface Content {
  readonly examples?: { readonly usual: { readonly summary?: string; readonly value: unknown } }
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly example?: string | number
}

interface Operation {
  readonly summary: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** The document of the listener, made without a store: its routes are described and never called. */
export async function adminDocument(): Promise<Document> {
  const drain = { isOn: () => false, turn: () => {} }
  const options = { store: {}, metrics: {}, now: Date.now, version: '0', drain } as unknown as AdminOptions
  const routes = routesOf(
    options,
    new Login({ credentials: () => [], now: Date.now }),
    new EndedSessions(options.store, Date.now),
  )
  const call = { params: {}, query: {}, body: undefined, headers: {}, address: '', identity: null }
  const itself = routes.find(({ path }) => path === '/openapi.json')
  const response = await itself?.handle({ ...call, signal: new AbortController().signal })
  return JSON.parse(JSON.stringify(response?.body))
}

/** @returns the page as Markdown */
export function examplesPage(document: Document): string {
  const sections = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, text: section(method.toUpperCase(), path, operation) })),
  )
  const parts = PARTS.map(([heading, paths]) => {
    const own = sections.filter(({ path }) => paths.test(path))
    return `## ${heading}\n\n${own.map(({ text }) => text).join('\n')}`
  })
  return `${HEAD}\n${parts.join('\n')}`
}

function section(method: string, path: string, operation: Operation): string {
  const [status = '', response] = Object.entries(operation.responses).find(([status]) => Number(status) < 400) ?? []
  const [type, content] = firstContent(response?.content)
  const sent = request(method, path, operation)
  const received = [
    `${status}${type === '' || type === JSON_TYPE ? '' : `  ${type}`}`,
    ...(content === null ? [] : ['', bodyOf(method, path, content)]),
  ]
  const notes = notesOf(method, path, operation, content)
  return [
    `### ${method} ${path}\n`,
    `${operation.summary}.${notes === '' ? '' : ` ${notes}`}\n`,
    `\`\`\`http\n${sent}\n\`\`\`\n`,
    `\`\`\`http\n${received.join('\n')}\n\`\`\`\n`,
  ].join('\n')
}

function notesOf(method: string, path: string, { security }: Operation, content: Content | null): string {
  const { like } = EXAMPLES[`${method} ${path}`] ?? {}
  const open = security.length === 0 ? 'It needs no credential.' : ''
  const same = like === undefined ? '' : `All else is as in ${like}.`
  return [open, content?.examples?.usual.summary ?? '', same].filter((note) => note !== '').join(' ')
}

function request(method: string, path: string, { parameters = [], requestBody }: Operation): string {
  const given = parameters.filter(({ example }) => example !== undefined)
  const query = new URLSearchParams(
    given.flatMap(({ in: where, name, example = '' }): [string, string][] =>
      where === 'query' ? [[name, String(example)]] : [],
    ),
  )
  const target = path.replace(
    /\{(\w+)\}/g,
    (_, name) => given.find((each) => each.name === name)?.example?.toString() ?? '',
  )
  const search = query.size === 0 ? '' : `?${decodeURIComponent(String(query))}`
  const [type, content] = firstContent(requestBody?.content)
  const headers = given.flatMap(({ in: where, name, example }) => (where === 'header' ? [`${name}: ${example}`] : []))
  const value = content?.examples?.usual.value
  if (value === undefined) return [`${method} ${target}${search}`, ...headers].join('\n')
  const ofType = type === JSON_TYPE ? [] : [`Content-Type: ${type}`]
  return [`${method} ${target}${search}`, ...headers, ...ofType, '', written(value)].join('\n')
}

function firstContent(content: Readonly<Record<string, Content>> = {}): [type: string, content: Content | null] {
  return Object.entries(content)[0] ?? ['', null]
}

/** The value of a response, without the members that are as in the example that it resembles. */
function bodyOf(method: string, path: string, { examples }: Content): string {
  const { like } = EXAMPLES[`${method} ${path}`] ?? {}
  const value = examples?.usual.value
  const other = like === undefined ? undefined : EXAMPLES[like]?.response
  return written(other === undefined ? value : difference(value as object, other as object))
}

function difference(value: object, other: object): object {
  const of = new Map(Object.entries(other).map(([name, member]) => [name, JSON.stringify(member)]))
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => of.get(name) !== JSON.stringify(member)))
}

/** Columns of a line of JSON. */
const WIDTH = 118

/** A text as it is; all else as JSON with as much on a line as fits. */
function written(value: unknown, indent = ''): string {
  if (typeof value === 'string' && indent === '') return value.trimEnd()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const short = onOneLine(value)
  if (short.length + indent.length <= WIDTH) return short
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each === 'number')) return `[${value.slice(0, 3).join(', ')}, …]`
    return `[\n${value.map((each) => inner + written(each, inner)).join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value).map(([name, each]) => `${inner}"${name}": ${written(each, inner)}`)
  return `{\n${members.join(',\n')}\n${indent}}`
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `"${name}": ${onOneLine(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

if (import.meta.main) writeFileSync(PAGE, examplesPage(await adminDocument()))
