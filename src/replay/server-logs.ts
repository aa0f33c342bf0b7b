import { clfTime } from './clf-time.ts'
import { type Entry, type LineReader, type Reading, unreadable } from './entry.ts'

/** Reads the formats that Apache and nginx call `combined` and `common`. Everything after the status is ignored. */
export const readCombinedLine: LineReader = (line) => {
  const found = COMBINED.exec(line)
  if (found === null) return unreadable('expected ADDRESS - USER [TIME] "REQUEST" STATUS')
  const [, address = '', user, time = '', request = '', status] = found
  const at = clfTime(time)
  if (at === null) return unreadable(`"${time}" is no time like 10/Oct/2026:13:55:36 +0000`)
  return requestOf(unescaped(request), {
    at,
    endedAt: at,
    address,
    user: user === '-' ? null : unescaped(user ?? ''),
    status,
  })
}

/** Reads the default format of Envoy. The client is the first address of X-Forwarded-For. */
export const readEnvoyLine: LineReader = (line) => {
  const found = ENVOY.exec(line)
  if (found === null)
    return unreadable('expected [TIME] "REQUEST" STATUS FLAGS BYTES BYTES DURATION TIME "X-FORWARDED-FOR"')
  const [, time = '', request = '', status, duration = '', forwarded = ''] = found
  const at = Date.parse(time)
  if (Number.isNaN(at)) return unreadable(`"${time}" is no time like 2026-10-10T13:55:36.000Z`)
  const first = forwarded.split(',', 1)[0]?.trim() ?? ''
  const address = first === '-' || first === '' ? null : first
  return requestOf(request, { at, endedAt: at + Number(duration), address, user: null, status })
}

/** The quoted request may hold quotes after a backslash. */
const COMBINED = /^(\S+) \S+ (.{1,512}?) \[([^\]]{1,64})\] "((?:[^"\\]|\\.)*)" (\d{3})(?= |$)/
/** Newer formats have up to four details between the flags and the bytes. */
const ENVOY = /^\[([^\]]{1,64})\] "([^"]*)" (\d{1,3}) \S+(?: (?:"[^"]*"|[^\s"]+)){0,4}? \d+ \d+ (\d+) \S+ "([^"]*)"/
const REQUEST = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+)(?: HTTP\/[0-9.]+)?$/

type Known = Pick<Entry, 'at' | 'endedAt' | 'address' | 'user'> & { readonly status: string | undefined }

const BEFORE_THE_QUOTA: Reading = { kind: 'other', why: 'refused before the quota' }

function requestOf(request: string, { status, ...known }: Known): Reading {
  const [, method, path] = REQUEST.exec(request) ?? []
  // A logged line of invalid bytes got 400, 408 or no status.
  if (method === undefined || path === undefined) return BEFORE_THE_QUOTA
  return pathRequest({ ...known, method, path, status: Number(status) })
}

/** A request as an access log of a server describes it. */
export interface PathRequest extends Pick<Entry, 'at' | 'endedAt' | 'address' | 'user' | 'method'> {
  /** The path, and the query if there is one. */
  readonly path: string
  /** The status of the response. */
  readonly status: number
}

export function pathRequest({ at, endedAt, address, user, method, path, status }: PathRequest): Reading {
  const entry: Entry = {
    at,
    endedAt,
    method,
    target: { kind: 'path', text: path },
    user,
    address: user === null ? address : null,
    plan: null,
    organisation: null,
    cost: null,
    charged: null,
    fate: status === 429 ? 'refused' : 'passed',
    ...(status >= 400 && status !== 429 && { failed: true as const }),
  }
  return { kind: 'request', entry }
}

/** nginx writes an unprintable byte as `\xHH`, and so does Apache. Both put a backslash before a quote. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex, char) =>
    hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
