import type { OwnResponse } from './response.ts'

/** Rules for pages of other origins: what they may ask for, and read of the gateway's own responses (Fetch, section 3.3). */
export interface CorsRules {
  /** The origins, compared letter by letter. `null`: any. */
  readonly origins: ReadonlySet<string> | null
  /** Whether pages may send cookies and read the response to them. Never set if any origin is allowed. */
  readonly credentials: boolean
  /** Names of fields that a script may read, beside those that any script may read. */
  readonly expose: readonly string[]
  /** Names of fields that a page may send; `null`: any fields that it asks for. */
  readonly allowHeaders: readonly string[] | null
  /** How long a browser may remember the permission, in seconds. */
  readonly maxAgeSeconds: number
}

/** The fields for a response of the gateway's own. @param origin of the asking page, as the browser states it */
export function corsFields(rules: CorsRules, origin: string | undefined): readonly string[] {
  const { origins, credentials, expose } = rules
  const vary = origins === null ? [] : ['Vary', 'Origin']
  if (origin === undefined || !isAllowed(rules, origin)) return vary
  return [
    ...vary,
    'Access-Control-Allow-Origin',
    origins === null ? '*' : origin,
    ...(credentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
    ...(expose.length === 0 ? [] : ['Access-Control-Expose-Headers', expose.join(', ')]),
  ]
}

function isAllowed({ origins }: CorsRules, origin: string): boolean {
  return origins === null || origins.has(origin)
}

/** The question that a browser asks before the request itself. */
export interface Preflight {
  readonly origin: string
  /** The names of the fields that will be sent; empty for none. */
  readonly fields: string
  /** The methods of the path. */
  readonly methods: readonly string[]
}

/** The response to a preflight, without the fields that `corsFields` adds to any response. */
export function preflightResponse(rules: CorsRules, { origin, fields, methods }: Preflight): OwnResponse {
  const vary = ['Vary', 'Access-Control-Request-Method, Access-Control-Request-Headers']
  if (!isAllowed(rules, origin)) return { status: 204, headers: vary, body: '' }
  const names = rules.allowHeaders ?? namesIn(fields)
  const allowed = names.length === 0 ? [] : ['Access-Control-Allow-Headers', names.join(', ')]
  const age = ['Access-Control-Max-Age', String(rules.maxAgeSeconds)]
  return {
    status: 204,
    headers: [...vary, 'Access-Control-Allow-Methods', methods.join(', '), ...allowed, ...age],
    body: '',
  }
}

/** The most names in the response: no page sends so many, and a whole head is never repeated. */
const MAX_NAMES = 100
const NAME = /^[0-9A-Za-z-]{1,64}$/

function namesIn(fields: string): string[] {
  const names = fields.split(',', MAX_NAMES).map((name) => name.trim())
  return names.filter((name) => NAME.test(name))
}
