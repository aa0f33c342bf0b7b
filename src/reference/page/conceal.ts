/** The methods of an immutable map of Swagger UI that are used here. */
export interface Shown {
  get(key: string): unknown
  set(key: string, value: unknown): Shown
  map(change: (value: unknown, key: string) => unknown): Shown
}

/** The places of credentials according to a document. */
export interface Places {
  /** Header fields in lower case. */
  readonly fields: ReadonlySet<string>
  /** Whether `Authorization` has a scheme, which may be shown. */
  readonly hasScheme: boolean
  readonly parameters: ReadonlySet<string>
}

type Schemes = Readonly<Record<string, unknown>>

const CONCEALED = 'CREDENTIAL'
const AUTHORIZATION = 'authorization'

/** @param schemes the security schemes of a document, by name */
export function placesOf(schemes: unknown): Places {
  const known = Object(schemes) as Schemes
  const all = Object.values(known).map((scheme) => resolved(scheme, known))
  const keysIn = (where: string) =>
    all.flatMap((scheme) => (scheme.type === 'apiKey' && scheme.in === where ? String(scheme.name) : []))
  const fields = keysIn('header').map((name) => name.toLowerCase())
  return {
    fields: new Set([AUTHORIZATION, 'cookie', ...fields]),
    hasScheme: !fields.includes(AUTHORIZATION),
    parameters: new Set(keysIn('query')),
  }
}

/** A scheme, which may refer to another one of its document. */
function resolved(scheme: unknown, schemes: Schemes): Schemes {
  const { $ref, ...own } = Object(scheme) as Schemes
  const name = typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : null
  return name === null ? own : (Object(schemes[name]) as Schemes)
}

/** A request in the form that the page may show: nobody who sees the screen or a picture of it can read a credential. */
export function concealed(request: Shown | null, { fields, hasScheme, parameters }: Places): Shown | null {
  const headers = request?.get('headers') as Shown | undefined
  if (request === null || headers === undefined) return request
  const hidden = headers.map((value, name) => {
    const field = name.toLowerCase()
    if (!fields.has(field)) return value
    return field === AUTHORIZATION && hasScheme ? `${schemeIn(String(value))}${CONCEALED}` : CONCEALED
  })
  return request.set('url', withoutValues(String(request.get('url')), parameters)).set('headers', hidden)
}

/** The scheme with the blank after it; empty if there is none. */
function schemeIn(value: string): string {
  return /^[\w-]+ (?=\S)/.exec(value)?.[0] ?? ''
}

function withoutValues(url: string, parameters: ReadonlySet<string>): string {
  if (parameters.size === 0 || !url.includes('?')) return url
  const [path = '', query = ''] = [url.slice(0, url.indexOf('?')), url.slice(url.indexOf('?') + 1)]
  const pairs = query.split('&').map((pair) => {
    const name = pair.split('=', 1)[0] ?? ''
    return parameters.has(decoded(name)) ? `${name}=${CONCEALED}` : pair
  })
  return `${path}?${pairs.join('&')}`
}

/** The decoded text, or the same text if it cannot be decoded. */
function decoded(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written
  }
}
