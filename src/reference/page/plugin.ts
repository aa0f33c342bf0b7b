import type { System } from 'swagger-ui-dist/swagger-ui-bundle.js'
import { concealed, placesOf, type Shown } from './conceal.ts'
import { whatIsLeft } from './what-is-left.ts'

/** What this page does otherwise than Swagger UI. */
export function plugin({ React }: System) {
  const h = React.createElement

  /** Fields of which the browser remembers nothing, which no spelling service is asked about, and whose credentials nobody reads. */
  const Input = (Original: unknown) => (properties: { readonly id?: string; readonly type?: string }) => {
    const isCredential = CREDENTIALS.has(properties.id ?? '')
    return h(Original, {
      autoComplete: 'off',
      spellCheck: false,
      ...properties,
      ...(isCredential && { type: 'password' }),
    })
  }

  /** The price stands beside the path, also while the operation is closed: then only the document knows it. */
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

  /** There is nothing to choose from. */
  const ServersContainer =
    (Original: unknown) => (properties: { readonly specSelectors: { servers(): { readonly size: number } } }) =>
      properties.specSelectors.servers().size > 1 ? h(Original, properties) : null

  return {
    wrapComponents: { Input, OperationSummaryPath, ServersContainer, execute },
    statePlugins: { spec: { wrapSelectors: { requestFor: conceal, mutatedRequestFor: conceal } } },
  }
}

interface Operation {
  get(key: 'path' | 'method'): string
}

const CREDENTIALS = new Set(['auth-bearer-value', 'api_key_value'])

/** Swagger UI has bound it to the state already. */
type RequestOf = (...operation: unknown[]) => Shown | null

const conceal = (original: RequestOf, { specSelectors }: System) => {
  return (_state: unknown, ...operation: unknown[]) => {
    const schemes = specSelectors.specJson().getIn(['components', 'securitySchemes'])
    return concealed(original(...operation), placesOf(schemes?.toJS?.()))
  }
}

/** @param extension what the gateway says of an operation */
function priceOf(extension: unknown): string | null {
  const { public: isPublic, category, cost } = plain(extension)
  if (isPublic === true) return 'public'
  if (typeof category !== 'string') return null
  return `${category} · ${typeof cost === 'number' ? cost : range(plain(plain(cost).values))}`
}

function range(values: Readonly<Record<string, unknown>>): string {
  const all = Object.values(values).map(Number)
  const [least, most] = [Math.min(...all), Math.max(...all)]
  return least === most ? `${least}` : `${least} to ${most}`
}

function plain(value: unknown): Readonly<Record<string, unknown>> {
  const map = value as { toJS?: () => object } | undefined
  return (map?.toJS?.() ?? Object(value)) as Readonly<Record<string, unknown>>
}
