import type { System } from 'swagger-ui-dist/swagger-ui-bundle.js'
import { concealed, placesOf, type Shown } from './conceal.ts'
import { whatIsLeft } from './what-is-left.ts'

/** The parts of Swagger UI that this page changes. */
export function plugin({ React }: System) {
  const h = React.createElement

  /** Fields that the browser neither remembers nor sends to a spelling service, and whose credentials are hidden. */
  const Input = (Original: unknown) => (properties: { readonly id?: string; readonly type?: string }) => {
    const isCredential = CREDENTIALS.has(properties.id ?? '')
    return h(Original, {
      autoComplete: 'off',
      spellCheck: false,
      ...properties,
      ...(isCredential && { type: 'password' }),
    })
  }

  /** Shows the price beside the path, also while the operation is closed. Only the document has the price then. */
  const OperationSummaryPath =
    (Original: unknown, { specSelectors }: System) =>
    (properties: { readonly operationProps: Operation }) => {
      const { operationProps: operation } = properties
      const at = ['paths', operation.get('path'), operation.get('method'), 'x-tollgate']
      const price = priceOf(specSelectors.specJson().getIn(at))
      return h(React.Fragment, {}, h(Original, properties), price !== null && h('span', { className: 'price' }, price))
    }

  const execute = (Original: unknown) => (properties: object) =>
    h(React.Fragment, {}, h(Original, properties), h(Left, {}))

  function Left() {
    const left = React.useSyncExternalStore(whatIsLeft.subscribe, whatIsLeft.get)
    if (left === null) return null
    const { name, remaining, limit } = left
    return h('p', { className: 'left', role: 'status' }, `Left: ${remaining} of ${limit} tokens (${name})`)
  }

  /** Shows the choice of servers only if there are several. */
  const ServersContainer =
    (Original: unknown) => (properties: { readonly specSelectors: { servers(): { readonly size: number } } }) =>
      properties.specSelectors.servers().size > 1 ? h(Original, properties) : null

  /** A picture that is text, such as SVG. As the source of an image it runs no script and loads nothing. */
  const picture = (svg: string, name: string) =>
    h('img', { className: 'picture', alt: name, src: `data:${SVG},${encodeURIComponent(svg.toWellFormed())}` })

  /** Swagger UI would show the source of a picture, or an error that it cannot make an example of XML. */
  const response = (Original: unknown) => (properties: { readonly response: Documented }) => {
    const documented = properties.response
    const example = documented.getIn(['content', SVG, 'example'])
    if (typeof example !== 'string') return h(Original, properties)
    const shown = h('td', { colSpan: 3 }, picture(example, 'An example of the response'))
    const bare = { ...properties, response: documented.delete('content') }
    return h(React.Fragment, {}, h(Original, bare), h('tr', {}, shown))
  }

  const responseBody = (Original: unknown) => (properties: Body) => {
    const { content, contentType } = properties
    if (typeof content !== 'string' || contentType?.startsWith(SVG) !== true) return h(Original, properties)
    return h(React.Fragment, {}, picture(content, 'The response'), h(Original, properties))
  }

  return {
    wrapComponents: { Input, OperationSummaryPath, ServersContainer, execute, response, responseBody },
    statePlugins: { spec: { wrapSelectors: { requestFor: conceal, mutatedRequestFor: conceal } } },
  }
}

const SVG = 'image/svg+xml'

/** A response of the document. */
interface Documented {
  getIn(path: readonly string[]): unknown
  delete(key: string): Documented
}

/** The body that a service sent. */
interface Body {
  readonly content: unknown
  readonly contentType?: string
}

interface Operation {
  get(key: 'path' | 'method'): string
}

const CREDENTIALS = new Set(['auth-bearer-value', 'api_key_value'])

/** A selector of the request for an operation. Swagger UI has already bound it to the state. */
type RequestOf = (...operation: unknown[]) => Shown | null

const conceal = (original: RequestOf, { specSelectors }: System) => {
  return (_state: unknown, ...operation: unknown[]) => {
    const schemes = specSelectors.specJson().getIn(['components', 'securitySchemes'])
    return concealed(original(...operation), placesOf(schemes?.toJS?.()))
  }
}

/** @param extension the gateway's extension of an operation */
function priceOf(extension: unknown): string | null {
  const { public: isPublic, category, cost, others } = plain(extension)
  if (isPublic === true) return 'public'
  if (typeof category !== 'string') return null
  const further = Array.isArray(others) ? others.map(plain) : []
  return [{ category, cost }, ...further].map(meterText).join(', ')
}

function meterText({ category, cost }: Readonly<Record<string, unknown>>): string {
  return `${category} · ${range(amountsOf(cost))}`
}

/** The amounts that a price may have: a number, or several by the parts of a request. */
function amountsOf(price: unknown): number[] {
  if (typeof price === 'number') return [price]
  const { values, min, max, missing, otherwise, batch } = plain(price)
  const each = [...Object.values(plain(values)), min, max, missing, otherwise]
  const all = each.filter((amount) => amount !== undefined).flatMap(amountsOf)
  return typeof batch === 'number' ? [...all, batch * Math.max(...all)] : all
}

function range(all: readonly number[]): string {
  const [least, most] = [Math.min(...all), Math.max(...all)]
  return least === most ? `${least}` : `${least} to ${most}`
}

function plain(value: unknown): Readonly<Record<string, unknown>> {
  const map = value as { toJS?: () => object } | undefined
  return (map?.toJS?.() ?? Object(value)) as Readonly<Record<string, unknown>>
}
