/** What an immutable map of Swagger UI can do, of what is used here. */
export interface Shown {
  get(key: string): unknown
  set(key: string, value: unknown): Shown
  map(change: (value: unknown, key: string) => unknown): Shown
}

/** Where a document says that credentials are. */
export interface Places {
  /** Header fields in lower case. */
  readonly fields: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
}

const CONCEALED = 'CREDENTIAL'

/** @param schemes the security schemes of a document, by name */
export function placesOf(schemes: unknown): Places {
  const all = Object.values(Object(schemes) as Record<string, unknown>).map(
    (one) => Object(one) as Record<string, unknown>,
  )
  const keysIn = (where: string) =>
    all.flatMap((scheme) => (scheme.type === 'apiKey' && scheme.in === where ? String(scheme.name) : []))
  const fields = ['authorization', 'cookie', ...keysIn('header').map((name) => name.toLowerCase())]
  return { fields: new Set(fields), parameters: new Set(keysIn('query')) }
}

/** A request as the page may show it: whoever looks over a shoulder, or gets a picture of the page, reads no credential. */
export function concealed(request: Shown | null, { fields, parameters }: Places): Shown | null {
  const headers = request?.get('headers') as Shown | undefined
  if (request === null || headers === undefined) return request
  const url = withoutValues(String(request.get('url')), parameters)
  return request.set('url', url).set(
    'headers',
    headers.map((value, name) => (fields.has(name.toLowerCase()) ? withoutKey(String(value)) : value)),
  )
}

/** The scheme stays. */
function withoutKey(value: string): string {
  return value.includes(' ') ? value.replace(/ .*$/s, ` ${CONCEALED}`) : CONCEALED
}

function withoutValues(url: string, parameters: ReadonlySet<string>): string {
  if (parameters.size === 0 || !url.includes('?')) return url
  const [path = '', query = ''] = [url.slice(0, url.indexOf('?')), url.slice(url.indexOf('?') + 1)]
  const pairs = query.split('&').map((pair) => {
    const name = pair.split('=', 1)[0] ?? ''
    return parameters.has(decodeURIComponent(name)) ? `${name}=${CONCEALED}` : pair
  })
  return `${path}?${pairs.join('&')}`
}
