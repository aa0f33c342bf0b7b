import { type Denial, denial } from '../errors.ts'
import { isRead, mayBeNominated, type NameRules, neededFor } from '../inputs/inputs.ts'
import { namesIn } from '../lib/field-names.ts'

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
 * Checks the headers as they came over the wire, because `req.headers` has already dropped or joined duplicates.
 *
 * @param version as in `IncomingMessage.httpVersion`
 */
export function checkHeaders(raw: readonly string[], version: string, names: NameRules): Denial | null {
  if (raw.length > 2 * MAX_FIELDS) return tooManyFields()
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
    const refused = look(seen, raw[i] ?? '', raw[i + 1] ?? '', names)
    if (refused !== null) return refused
  }
  return checkFraming(seen, version) ?? checkHost(seen.host, version) ?? checkExpect(seen.expect)
}

/** Node's byte limit counts only names and values, so 16 KiB could be 16,000 fields of one letter. Other servers accept 100. */
export const MAX_FIELDS = 200

export function tooManyFields(): Denial {
  return denial('headers_too_large', `A request may have at most ${MAX_FIELDS} header fields.`, {
    reason: 'fields',
    headers: CLOSE,
  })
}

/**
 * Refuses a request and its connection. If another server could read the message differently, the next message may
 * begin anywhere.
 */
export function refuse(reason: string, msg: string): Denial {
  return denial('bad_request', msg, { reason, headers: CLOSE })
}

export const CLOSE = Object.freeze({ Connection: 'close' })

function look(seen: Seen, name: string, value: string, names: NameRules): Denial | null {
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
      return checkConnection(value, names)
    default:
      return checkName(name, names)
  }
}

function twice(name: string): Denial {
  return refuse('duplicate_header', `The request must have only one ${name} header.`)
}

const ODD = /[^0-9A-Za-z-]/

/**
 * CGI and WSGI turn `X-Tollgate-User`, `X_Tollgate_User` and `X.Tollgate.User` into one variable, so a client could set
 * what only the gateway may set. Such a field is refused and not dropped, because a missing header is hard to find.
 */
function checkName(name: string, names: NameRules): Denial | null {
  if (!ODD.test(name)) return null
  if (neededFor([name]).some((leniency) => !names.lenient.includes(leniency))) {
    return refuse('header_name', 'Header names may consist of letters, digits and hyphens only.')
  }
  // The gateway reads this field only with dashes.
  return isRead(name, names) ? refuse('header_name', `The header ${name} must be written with hyphens.`) : null
}

/** RFC 9112 section 6: a body whose end can be found in more than one way is refused. */
function checkFraming({ length, encoding }: Seen, version: string): Denial | null {
  if (encoding !== undefined) {
    if (length !== undefined)
      return refuse('framing', 'A request must not have both Content-Length and Transfer-Encoding.')
    // An HTTP/1.0 server in between does not know the field, and ends the body elsewhere.
    if (version === '1.0') return refuse('framing', 'Transfer-Encoding is not possible in HTTP/1.0.')
    if (encoding.toLowerCase() !== 'chunked')
      return refuse('framing', 'The only Transfer-Encoding accepted is chunked.')
  }
  if (length === undefined || LENGTH.test(length)) return null
  return refuse('framing', 'Content-Length must be a plain decimal number.')
}

const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/

const HOST = /^(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/

function checkHost(host: string | undefined, version: string): Denial | null {
  if (host === undefined) {
    return version === '1.0' ? null : refuse('host', 'The request must have a Host header.')
  }
  return HOST.test(host) ? null : refuse('host', 'The Host header is not valid.')
}

/** Node accepts every value that contains `100-continue`, even `y 100-continue`. */
function checkExpect(expect: string | undefined): Denial | null {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return null
  return denial('expectation_failed', 'The only expectation accepted is 100-continue.', {
    reason: 'expect',
    headers: CLOSE,
  })
}

const USUAL_CONNECTION = /^(?:keep-alive|close|upgrade)$/i

/** The most octets of a list, over all fields with the same name. A longer Connection or Upgrade has no honest use. */
export const MAX_LIST = 256

/** @param list the values of all Connection fields, joined */
export function checkConnectionLength(list: string | undefined): Denial | null {
  if (list === undefined || list.length <= MAX_LIST) return null
  return refuse('connection_nomination', `Connection must have at most ${MAX_LIST} octets.`)
}

function checkConnection(value: string, names: NameRules): Denial | null {
  if (USUAL_CONNECTION.test(value)) return null
  const name = namesIn(value).find((each) => !mayBeNominated(each, names))
  return name === undefined ? null : refuse('connection_nomination', `Connection must not name the header ${name}.`)
}
