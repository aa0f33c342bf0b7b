/** The parts that all OpenAPI 3.1 documents share. This file loads no library, since processes without a configuration use it. */

export const OPENAPI_VERSION = '3.1.1'

/** @param operation describes a route without its path. The path may have parameters as in `/songs/:id` */
export function openapiDocument<R extends { readonly method: string; readonly path: string }>(
  info: object,
  routes: readonly R[],
  operation: (route: R) => object,
  components?: object,
) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return { openapi: OPENAPI_VERSION, info, servers: [{ url: '/' }], paths, ...(components && { components }) }
}

/** `GET /bot/player/:qq` is `getBotPlayerQq`. */
export function operationId(method: string, path: string): string {
  const words = path.split(/[\W_]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return method.toLowerCase() + words.join('')
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: object
  readonly description?: string
}

/** The names of the parameters of `/songs/:id`. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}

export function pathParameter(name: string, description?: string): Parameter {
  const parameter = { name, in: 'path', required: true, schema: { type: 'string' } } as const
  return description === undefined ? parameter : { ...parameter, description }
}
