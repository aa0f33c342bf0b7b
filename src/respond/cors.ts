import type { OwnResponse } from './response.ts'

/** What pages of other origins may read of the gateway's own responses, and ask for (the Fetch standard, section 3.3). */
export interface CorsRules {
  /** Compared letter by letter. `null`: any. */
  readonly origins: ReadonlySet<string> | null
  /** Whether they may send cookies, and read what comes then; never with any origin. */
  readonly credentials: boolean
  /** Names of fields that a script may read, beside those that any may. */
  readonly expose: readonly string[]
  /** Names of fields that a page may send; `null` for those that it asks for. */
  readonly allowHeaders: readonly string[] | null
  /** How long a browser may remember that it may ask, in seconds. */
  readonly maxAgeSeconds: number
}

/** For a response of the gateway's own. @param origin of the page that asks, as the browser says it */
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

/** What a browser asks before the request itself. */
export interface Preflight {
  readonly origin: string
  /** Of the fields that are to be sent; empty for none. */
  readonly fields: string
  /** That the path has. */
  readonly methods: readonly string[]
}

/** The response to a preflight, but for what `corsFields` adds to any. */
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

/** More than any page sends, and nothing that repeats a whole head. */
const MAX_NAMES = 100
const NAME = /^[0-9A-Za-z-]{1,64}$/

function namesIn(fields: string): string[] {
  const names = fields.split(',', MAX_NAMES).map((name) => name.trim())
  return names.filter((name) => NAME.test(name))
}
