import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/**
 * Holds what a gateway in this process responds itself against its own OpenAPI document. The servers that a test names by `hold` are listened
 * to where they write, whatever client asks, and `test/setup/hold-responses.ts` fails the test in which a response was not as promised.
 */

// biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
type Json = any

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

interface Held {
  /** The same object as long as it says the same. */
  readonly document: () => Json | Promise<Json>
  /** Whether a response with this head is one that the document describes. Default each is. */
  readonly isOwn?: (head: string, url: string) => boolean
}

/** By the port of the server. */
const held = new Map<number, Held>()
const checks: Promise<string | null>[] = []

/** @returns ends it, when the server has closed */
export function hold(url: string, how: Held): () => void {
  const port = Number(new URL(url).port)
  held.set(port, how)
  return () => held.get(port) === how && held.delete(port)
}

/** What was wrong since it was asked last, a sentence for each response. */
export async function wrongResponses(): Promise<string[]> {
  return (await Promise.all(checks.splice(0))).filter((problem) => problem !== null)
}

/** No response of a service bears this field in a test that is held. */
export const isOfGateway = (head: string): boolean => /^x-content-type-options: nosniff\r$/im.test(head)

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
  const how = held.get(request.socket.localPort ?? 0)
  if (how !== undefined) listen(how, request, response)
})

function listen(how: Held, { method = '', url = '', socket }: IncomingMessage, response: ServerResponse): void {
  const { write, end } = response
  const pieces: Buffer[] = []
  const isOwn = () => how.isOwn?.(head(), url) ?? true
  const head = () => String((response as unknown as { _header: string | null })._header ?? '')
  function keep(chunk: unknown, encoding: unknown): void {
    if (!isOwn()) return
    if (typeof chunk === 'string') pieces.push(Buffer.from(chunk, encoding === 'latin1' ? 'latin1' : 'utf8'))
    else if (chunk instanceof Uint8Array) pieces.push(Buffer.from(chunk))
  }
  response.write = (...args: unknown[]) => {
    const result = Reflect.apply(write, response, args)
    keep(args[0], args[1])
    return result
  }
  response.end = (...args: unknown[]) => {
    // Nobody reads what is written to a client that has gone.
    const isLeft = socket.destroyed
    const result = Reflect.apply(end, response, args)
    keep(args[0], args[1])
    if (!isLeft && isOwn() && method !== 'HEAD') note(how, { method, url, head: head(), body: Buffer.concat(pieces) })
    return result
  }
}

/** What is refused before it is a request, or at a handshake, is written to the bare socket at once. */
subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket }
  const { write } = socket
  socket.write = (...args: unknown[]) => {
    const how = held.get(socket.localPort ?? 0)
    const [text] = args
    if (how !== undefined && typeof text === 'string' && text.startsWith('HTTP/1.1 ')) {
      const at = text.indexOf('\r\n\r\n') + 4
      const [head, body] = [text.slice(0, at), Buffer.from(text.slice(at))]
      const isWhole = head.includes(`\r\nContent-Length: ${body.length}\r\n`)
      if (isWhole && (how.isOwn?.(head, '') ?? true)) note(how, { method: '', url: '', head, body })
    }
    return Reflect.apply(write, socket, args)
  }
})

/** As it was written; the method and the target are empty where nothing is known of the request. */
interface Written {
  readonly method: string
  readonly url: string
  readonly head: string
  readonly body: Buffer
}

function replyOf({ head, body }: Written): Reply {
  const [line = '', ...lines] = head.trimEnd().split('\r\n')
  const fields = lines.map((field) => field.split(/: ?(.*)/s, 2))
  const headers = Object.fromEntries(fields.map(([name = '', value = '']) => [name.toLowerCase(), value]))
  const isZipped = headers['content-encoding'] === 'gzip' && body.length > 0
  const status = Number(line.split(' ')[1])
  // The body of a 304 is the client's own.
  return { status, headers, text: status === 304 ? '' : String(isZipped ? gunzipSync(body) : body) }
}

/** Nothing is looked at before the response is out: what goes wrong here is no fault of the gateway. */
function note(how: Held, written: Written): void {
  checks.push(
    (async () => {
      const document = how.document()
      const { method, url } = written
      const [validate, reply] = [validatorOf(await document), replyOf(written)]
      const path = plainPath(url.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] ?? '')
      const problem = validate(method, path, reply)
      return problem && `${method} ${url}: ${problem}: ${reply.status} ${reply.text.slice(0, 500)}`
    })(),
  )
}

/** As the gateway matches it: `/me/%71uota` is `/me/quota`. */
function plainPath(path: string): string {
  return path.replace(/%[0-9A-Fa-f]{2}/g, (octet) => {
    const char = String.fromCharCode(Number.parseInt(octet.slice(1), 16))
    return /[0-9A-Za-z._~-]/.test(char) ? char : octet
  })
}

type Validate = (method: string, path: string, reply: Reply) => string | null

/** Its schemas take a while to compile, so documents that say the same share them: most gateways of a file do. */
const validators = new WeakMap<object, Validate>()
const validatorsByText = new Map<string, Validate>()

function validatorOf(document: Json): Validate {
  const known = validators.get(document)
  if (known !== undefined) return known
  const text = JSON.stringify(document)
  const validate = validatorsByText.get(text) ?? responseValidator(document)
  if (validatorsByText.size >= 100) validatorsByText.clear()
  validatorsByText.set(text, validate)
  validators.set(document, validate)
  return validate
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
/** By the text of a schema and of all that it refers to: documents of two gateways differ in few of them. */
const compiled = new Map<string, ValidateFunction<Json>>()

/** A schema of a document, compiled. */
function compile(document: Json, schema: object): ValidateFunction<Json> {
  const whole = JSON.stringify({ ...schema, components: referredBy(document, schema) })
  const fits = compiled.get(whole) ?? ajv.compile<Json>(JSON.parse(whole))
  compiled.set(whole, fits)
  return fits
}

/** The components that a schema refers to, and those that they refer to. */
function referredBy(document: Json, schema: object): Json {
  const components: Json = {}
  const open = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [, kind = '', name = ''] of JSON.stringify(next).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"/]+)"/g)) {
      if (components[kind]?.[name] !== undefined) continue
      components[kind] = { ...components[kind], [name]: document.components[kind][name] }
      open.push(document.components[kind][name])
    }
  }
  return components
}

/** @returns what is wrong with a response; `null` for nothing */
export function responseValidator(document: Json): Validate {
  const templates = templatesOf(document)
  const known = new Map<object, ValidateFunction<Json>>()
  return function problemWith(method, path, { status, headers, text }) {
    const response = responseOf(document, templates, method, path, status)
    if (response === null) return null
    if (response === undefined) return `status ${status} is not in the document`
    const { content, description, headers: { ETag: tag = null } = {} } = response
    const { etag = null } = headers
    if (tag !== null && etag !== null && !new RegExp(tag.schema.pattern).test(String(etag))) {
      return `the ETag ${etag} is not in the document`
    }
    if (content === undefined) return text === '' ? null : 'a body that is not in the document'
    const type = String(headers['content-type'] ?? '').replace(/ *;.*/, '')
    if (content[type] === undefined) return `type ${type} is not in the document`
    if (!/^application\/(?:problem\+)?json$/.test(type) || text === '') return null
    const { schema } = content[type]
    if (schema === undefined) return null
    const fits = known.get(schema) ?? compile(document, schema)
    known.set(schema, fits)
    const body: Json = JSON.parse(text)
    if (!fits(body)) return ajv.errorsText(fits.errors)
    if (status < 400 || body.error === undefined || Object.keys(schema).length === 0) return null
    return description.includes(`\`${body.error}\``) ? null : `the error ${body.error} is not in the document`
  }
}

/** What the document says of a response; `undefined` where its operation has none of that status, `null` where no operation has one. */
function responseOf(
  document: Json,
  templates: readonly Template[],
  method: string,
  path: string,
  status: number,
): Json | null | undefined {
  const template = templates.find(({ pattern }) => pattern.test(path))?.template
  const way = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = template === undefined ? undefined : document.paths[template][way]
  if (operation === undefined || status === 405) return responseOfStatus(document, status)
  const response = operation.responses[status]
  return response?.$ref === undefined ? response : componentOf(document, response.$ref)
}

/** What a gateway may respond to any request stands at each operation by one name. */
function responseOfStatus(document: Json, status: number): Json | null {
  const operations = Object.values<Json>(document.paths).flatMap((item) => Object.values<Json>(item))
  const ref: string | undefined = operations.find(({ responses }) => responses[status]?.$ref)?.responses[status].$ref
  return ref === undefined ? null : componentOf(document, ref)
}

function componentOf(document: Json, ref: string): Json {
  const [, , kind = '', name = ''] = ref.split('/')
  return document.components[kind][name]
}

interface Template {
  readonly template: string
  readonly pattern: RegExp
}

/** A path without parameters before one with them, and of those the one that says more before its first parameter. */
function templatesOf(document: Json): Template[] {
  const said = (template: string) => (template.includes('{') ? template.indexOf('{') : Number.POSITIVE_INFINITY)
  const templates = Object.keys(document.paths).sort((a, b) => (said(a) === said(b) ? 0 : said(b) - said(a)))
  return templates.map((template) => {
    const pattern = template
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/\{(\w+)\}/g, (_, name) => (/^_*rest$/.test(name) ? '.+' : '[^/]+'))
    return { template, pattern: new RegExp(`^${pattern}$`) }
  })
}
