import { type Denial, denial } from '../errors.ts'
import { foldedName } from '../lib/field-names.ts'

/** What the configuration says of the names of fields. */
export interface NameRules {
  /** Whether the name of a field may hold `_`. */
  readonly underscoreNames: boolean
  /** Fields that the configuration decides by, as `foldedName` has them. */
  readonly decidedBy: ReadonlySet<string>
}

/** The headers whose number or form decides how a message is framed, routed or authenticated. */
interface Seen {
  host: string | undefined
  length: string | undefined
  encoding: string | undefined
  expect: string | undefined
  authorization: boolean
  type: boolean
  coding: boolean
}

/**
 * Judges the headers of a request as they came over the wire: `req.headers` has already dropped or joined duplicates.
 *
 * @param version as in `IncomingMessage.httpVersion`
 */
export function checkHeaders(raw: readonly string[], version: string, rules: NameRules): Denial | null {
  if (raw.length > 2 * MAX_FIELDS) return tooMany()
  const seen: Seen = {
    host: undefined,
    length: undefined,
    encoding: undefined,
    expect: undefined,
    authorization: false,
    type: false,
    coding: false,
  }
  for (let i = 0; i < raw.length; i += 2) {
    const refused = look(seen, raw[i] ?? '', raw[i + 1] ?? '', rules)
    if (refused !== null) return refused
  }
  return checkFraming(seen, version) ?? checkHost(seen.host, version) ?? checkExpect(seen.expect)
}

/** Node's limit of bytes counts names and values only, so that 16 KiB of fields of one letter are 16,000. Peers take 100. */
const MAX_FIELDS = 200

function tooMany(): Denial {
  return denial('headers_too_large', `A request may have at most ${MAX_FIELDS} header fields.`, {
    reason: 'fields',
    headers: CLOSE,
  })
}

/**
 * Refuses a request and the connection it came on: after a message that another server could have read differently,
 * the next one may begin anywhere.
 */
export function refuse(reason: string, msg: string): Denial {
  return denial('bad_request', msg, { reason, headers: CLOSE })
}

export const CLOSE = Object.freeze({ Connection: 'close' })

function look(seen: Seen, name: string, value: string, rules: NameRules): Denial | null {
  const { host, length, encoding, expect, authorization, type, coding } = seen
  switch (name.toLowerCase()) {
    case 'host':
      seen.host = value
      return host === undefined ? null : twice('Host')
    case 'content-length':
      seen.length = value
      return length === undefined ? null : twice('Content-Length')
    case 'transfer-encoding':
      seen.encoding = value
      return encoding === undefined ? null : twice('Transfer-Encoding')
    case 'expect':
      seen.expect = value
      return expect === undefined ? null : twice('Expect')
    case 'authorization':
      seen.authorization = true
      return authorization ? twice('Authorization') : null
    case 'content-type':
      seen.type = true
      return type ? twice('Content-Type') : null
    case 'content-encoding':
      seen.coding = true
      return coding ? twice('Content-Encoding') : null
    case 'connection':
      return checkConnection(value, rules)
    default:
      return checkName(name, rules)
  }
}

function twice(name: string): Denial {
  return refuse('duplicate_header', `The request must have only one ${name} header.`)
}

/**
 * CGI, WSGI and their heirs turn `X-Tollgate-User`, `X_Tollgate_User` and `X.Tollgate.User` into one variable, so that a
 * client could set what is ours to set. Refused rather than dropped: a header that vanishes is hard to find.
 */
function checkName(name: string, { underscoreNames, decidedBy }: NameRules): Denial | null {
  if (!/[^0-9A-Za-z-]/.test(name)) return null
  if (underscoreNames && !/[^\w-]/.test(name)) {
    return isDeciding(name, decidedBy) ? refuse('header_name', `The name of ${name} must have hyphens.`) : null
  }
  return refuse('header_name', 'Header names may consist of letters, digits and hyphens only.')
}

/** RFC 9112 section 6: what is not exactly one way to find the end of the body is refused. */
function checkFraming({ length, encoding }: Seen, version: string): Denial | null {
  if (encoding !== undefined) {
    if (length !== undefined)
      return refuse('framing', 'A request must not have both Content-Length and Transfer-Encoding.')
    // An HTTP/1.0 server in between does not know the field and ends the body elsewhere.
    if (version === '1.0') return refuse('framing', 'Transfer-Encoding is not possible in HTTP/1.0.')
    if (encoding.toLowerCase() !== 'chunked')
      return refuse('framing', 'The only Transfer-Encoding accepted is chunked.')
  }
  if (length === undefined || /^(?:0|[1-9][0-9]{0,14})$/.test(length)) return null
  return refuse('framing', 'Content-Length must be a plain decimal number.')
}

const HOST = /^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/

function checkHost(host: string | undefined, version: string): Denial | null {
  if (host === undefined) {
    return version === '1.0' ? null : refuse('host', 'The request must have a Host header.')
  }
  return HOST.test(host) ? null : refuse('host', 'The Host header is not valid.')
}

/** Node takes any value in which `100-continue` occurs for the one expectation there is: `y 100-continue` too. */
function checkExpect(expect: string | undefined): Denial | null {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return null
  return denial('expectation_failed', 'The only expectation accepted is 100-continue.', {
    reason: 'expect',
    headers: CLOSE,
  })
}

const USUAL_CONNECTION = /^(?:keep-alive|close|upgrade)$/i

/**
 * Headers that a `Connection` header must not name. What it names is removed before forwarding, and a client could so
 * remove what says to the upstream who asks, or on what the price was decided.
 */
const NOT_NOMINABLE = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'transfer-encoding',
  'x-real-ip',
  'x-request-id',
])

/** More names in one field than this say nothing of a connection. In octets. */
const MAX_CONNECTION = 256

function checkConnection(value: string, { decidedBy }: NameRules): Denial | null {
  if (USUAL_CONNECTION.test(value)) return null
  if (value.length > MAX_CONNECTION) {
    return refuse('connection_nomination', `Connection must have at most ${MAX_CONNECTION} octets.`)
  }
  const name = value
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .find((token) => NOT_NOMINABLE.has(token) || isDecidedBy(token, decidedBy))
  return name === undefined ? null : refuse('connection_nomination', `Connection must not name the header ${name}.`)
}

function isDecidedBy(token: string, decidedBy: ReadonlySet<string>): boolean {
  return token.startsWith('x-forwarded-') || token.startsWith('x-tollgate-') || isDeciding(token, decidedBy)
}

/** Names that a configuration may have are no longer. */
const LONGEST_NAME = 256

function isDeciding(name: string, decidedBy: ReadonlySet<string>): boolean {
  return name.length <= LONGEST_NAME && decidedBy.has(foldedName(name))
}
