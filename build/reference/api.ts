import { PARTS } from '../../src/admin/openapi.ts'
import { EXAMPLES } from '../../src/contract/examples.ts'
import type { Content, Document, Operation, Parameter, Response } from './documents.ts'
import { below, type Key, keysOf, kindOf, type Node, nameOf } from './schema.ts'

/** The pages of the three APIs from their OpenAPI documents: operations with parameters, fields, errors and an example. */

const ADMIN_HEAD = `# The admin API, operation by operation

This page describes every operation of the admin API with its parameters, the fields of its bodies, its errors, and an example with the response of a real gateway. All examples come from one gateway on one day. [The guide to the admin API](../admin-api.md) explains who may do what and how changes take effect. The [cookbook](../cookbook.md) shows common jobs. Programs get the same description from \`GET /openapi.json\`.

Send \`Authorization: Bearer TOKEN\` with every request, unless its section says that anybody may send it. Send bodies as JSON with \`Content-Type: application/json\`, unless the example shows another type. If a request fails, the field \`error\` of the response has an [error code](error-codes.md#the-admin-api).
`

const DECISIONS_HEAD = `# The decisions API, operation by operation

If Tollgate does not forward your requests, another proxy or your service can ask this API whether a request may pass. The API listens on [\`decisions.listen\`](configuration.md#decisionslisten). [Deciding for other proxies](../deciding.md) shows how to set it up. [Asked by the service itself](../guides/asking.md) is a whole example.

If the configuration has a \`decisions.token\`, send it as \`X-Tollgate-Token\`. If a request fails, the field \`error\` of the response has an [error code](error-codes.md).
`

const GATEWAY_HEAD = `# The gateway API, operation by operation

Tollgate forwards most requests to your service. It responds itself to the few paths on this page, so that a client can ask how much it has left and how much it has used. [The guide for client developers](../client-data.md) shows how to use them.

The examples come from a gateway with one category, \`read\`, and 120 tokens an hour for each user. Your gateway may have other categories and limits.

If a request fails, the field \`error\` of the response has an [error code](error-codes.md#the-gateway).
`

/** @returns the page as Markdown */
export function adminPage(document: Document): string {
  const all = operationsOf(document)
  const parts = PARTS.map(([heading, paths]) => ({ heading, own: all.filter(({ path }) => paths.test(path)) }))
  const sections = parts.map(({ heading, own }) => `## ${heading}\n\n${sectionsOf(own, document)}`)
  return `${ADMIN_HEAD}\n${ROLES_HEAD}\n${rolesTable(parts.flatMap(({ own }) => own))}\n${sections.join('\n')}\n${bodiesOf(document)}`
}

const ROLES_HEAD = `## All operations, and their roles

Each admin token has a role, and so has each person who signs in ([who may do what](../admin-api.md#who-may-do-what)). A lead may use an operation only for the own organisation.
`

function rolesTable(places: readonly Place[]): string {
  const rows = places.map(({ method, path, operation }) => {
    const name = `${method} ${path}`
    const roles = operation['x-roles'] ?? ['anybody']
    return `| [${name}](#${anchorOf(name)}) | ${operation.summary} | ${roles.join(', ')} |`
  })
  return `| Operation | What it does | Role |\n|---|---|---|\n${rows.join('\n')}\n`
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

export function decisionsPage(document: Document): string {
  return pageOf(DECISIONS_HEAD, operationsOf(document), document)
}

/** Only the operations to which the gateway itself responds. */
export function gatewayPage(document: Document): string {
  const isOwn = ({ path }: Place): boolean => /^\/(?:me|quota|usage)(?:\/|$)/.test(path)
  return pageOf(GATEWAY_HEAD, operationsOf(document).filter(isOwn), document)
}

function pageOf(head: string, operations: readonly Place[], document: Document): string {
  return `${head}\n## Operations\n\n${sectionsOf(operations, document)}\n${bodiesOf(document)}`
}

interface Place {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

function operationsOf(document: Document): Place[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      /^[a-z]+$/.test(method) && method !== 'head' && typeof operation === 'object' && 'responses' in operation
        ? [{ method: method.toUpperCase(), path, operation }]
        : [],
    ),
  )
}

function sectionsOf(operations: readonly Place[], document: Document): string {
  return operations.map((each) => sectionOf(each, document)).join('\n')
}

function sectionOf({ method, path, operation }: Place, document: Document): string {
  const { summary, description = '', parameters = [], requestBody } = operation
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    resolved(response, document),
  ]) as [string, Response][]
  const done = responses.filter(([status]) => Number(status) < 400)
  const refused = responses.filter(([status]) => Number(status) >= 400)
  return [
    `### ${method} ${path}\n`,
    `${summary.replace(/\.$/, '')}. ${description}\n`,
    ...listOf('Parameters', parameters.map(parameterLine)),
    ...contentLines('Body', requestBody?.content),
    ...done.flatMap(([status, { description: said = '', content }]) => contentLines(`${status}`, content, said)),
    ...(refused.length === 0 ? [] : [errorsLine(refused), '']),
    ...exampleOf(method, path, operation, done),
  ].join('\n')
}

function resolved(response: Response, { components }: Document): Response {
  const name = response.$ref?.split('/').at(-1)
  return name === undefined ? response : (components.responses?.[name] ?? response)
}

function listOf(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`**${title}**\n`, ...lines, '']
}

function parameterLine({ name, in: where, required = false, description = '', schema }: Parameter): string {
  const usual = schema.default === undefined ? [] : [`default \`${JSON.stringify(schema.default)}\``]
  const facts = [where, kindOf(schema), ...(required ? ['required'] : []), ...usual].join(', ')
  return `- \`${name}\` *(${facts})* ${description}`.trimEnd()
}

/** A body, or a response: the name of its schema, or its fields. */
function contentLines(title: string, content: Readonly<Record<string, Content>> = {}, said = ''): string[] {
  const [[type, { schema } = {}] = []] = Object.entries(content)
  const note = [said, ...(type === undefined || type === JSON_TYPE ? [] : [`As \`${type}\`.`])].join(' ').trim()
  if (schema === undefined || type !== JSON_TYPE)
    return title === 'Body' && type === undefined ? [] : [`**${title}** ${note}\n`]
  const fields = fieldLines(schema)
  if (fields.length === 0)
    return [`${[`**${title}**`, note, kindOf(schema)].filter((part) => part !== '').join(' ')}.\n`]
  return [`**${title}** ${note}\n`, ...fields, '']
}

function fieldLines(schema: Node): string[] {
  const keys = keysOf(below(schema, []))
  return keys.map(fieldLine)
}

function fieldLine({ path, node, isRequired }: Key): string {
  const description = node.description === undefined ? '' : ` ${node.description.replace(/\.$/, '')}.`
  return `- \`${nameOf(path)}\` *(${kindOf(node).replace('map of the keys below', 'object')}${isRequired ? '' : ', may be absent'})*${description}`
}

function errorsLine(refused: readonly [string, Response][]): string {
  const said = refused.map(([status, { description = '' }]) => `${status} ${codesIn(description)}`.trim())
  return `**Errors** ${said.join('; ')}.`
}

/** The codes that a description names. */
function codesIn(description: string): string {
  const own = description.replace(/^.*`error` is /s, '')
  return (own.match(/`[a-z_]+`/g) ?? []).join(', ')
}

/** Each named schema once. */
function bodiesOf({ components }: Document): string {
  const sections = Object.entries(components.schemas).map(([name, schema]) => {
    const description = schema.description === undefined ? [] : [`${schema.description.replace(/\.$/, '')}.\n`]
    const fields = fieldLines(schema)
    return [`### ${name}\n`, ...description, ...(fields.length === 0 ? [`It is ${kindOf(schema)}.`] : fields), ''].join(
      '\n',
    )
  })
  return `## Bodies\n\n${sections.join('\n')}`
}

const JSON_TYPE = 'application/json'

/** An example of a request and its response; empty if neither has one in the document or in EXAMPLES. */
function exampleOf(method: string, path: string, operation: Operation, done: readonly [string, Response][]): string[] {
  const [status = '', response] = done[0] ?? []
  const [type, content] = firstContent(response?.content)
  const value = shownIn(content)
  const [, asked] = firstContent(operation.requestBody?.content)
  if (value === undefined && shownIn(asked) === undefined && EXAMPLES[`${method} ${path}`] === undefined) return []
  const received = [
    `${status}${type === '' || type === JSON_TYPE ? '' : `  ${type}`}`,
    ...(content === null ? [] : ['', bodyOf(method, path, value)]),
  ]
  const notes = notesOf(method, path, content)
  return [
    ...(notes === '' ? [] : [`${notes}\n`]),
    `\`\`\`http\n${request(method, path, operation)}\n\`\`\`\n`,
    `\`\`\`http\n${received.join('\n')}\n\`\`\`\n`,
  ]
}

function shownIn(content: Content | null): unknown {
  return content?.examples?.usual.value ?? content?.example
}

function notesOf(method: string, path: string, content: Content | null): string {
  const { like } = EXAMPLES[`${method} ${path}`] ?? {}
  const same = like === undefined ? '' : `All else is as in ${like}.`
  return [content?.examples?.usual.summary ?? '', same].filter((note) => note !== '').join(' ')
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
  const value = shownIn(content)
  if (value === undefined) return [`${method} ${target}${search}`, ...headers].join('\n')
  const ofType = type === JSON_TYPE ? [] : [`Content-Type: ${type}`]
  return [`${method} ${target}${search}`, ...headers, ...ofType, '', written(value)].join('\n')
}

function firstContent(content: Readonly<Record<string, Content>> = {}): [type: string, content: Content | null] {
  return Object.entries(content)[0] ?? ['', null]
}

/** The value of a response, without the members that are equal in the example that it resembles. */
function bodyOf(method: string, path: string, value: unknown): string {
  const { like } = EXAMPLES[`${method} ${path}`] ?? {}
  const other = like === undefined ? undefined : EXAMPLES[like]?.response
  return written(other === undefined ? value : difference(value as object, other as object))
}

function difference(value: object, other: object): object {
  const of = new Map(Object.entries(other).map(([name, member]) => [name, JSON.stringify(member)]))
  return Object.fromEntries(Object.entries(value).filter(([name, member]) => of.get(name) !== JSON.stringify(member)))
}

/** The most characters of a line of JSON. */
const WIDTH = 118

/** A text stays as it is. Everything else is JSON with as much on a line as fits. */
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
