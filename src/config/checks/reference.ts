import { publicPaths, STATUS_PATHS, USAGE_PATH } from '../../quota/own-paths.ts'
import type { Pattern } from '../config.ts'
import type { PartialConfig } from '../partial.ts'
import { type Finding, type Path, quote } from '../problems.ts'

/** The gateway's name on the page of the API. */
export const GATEWAY_NAME = 'Gateway'

/** The page of the API must fit beside the routes and its services. @param lineOf the line of a path in the file */
export function checkReference(
  { reference, routes, published }: PartialConfig,
  lineOf: (path: Path) => number | null,
): Finding[] {
  if (reference === undefined) return []
  const taken = publicPaths({ failureRate: published.failure_rate === true, prices: published.prices === true })
  return [...checkPath(reference.path, routes, taken, lineOf), ...checkNames(reference.services)]
}

function checkPath(
  path: string | undefined,
  routes: PartialConfig['routes'],
  taken: ReadonlySet<string>,
  lineOf: (path: Path) => number | null,
): Finding[] {
  if (path === undefined) return []
  const at = { path: ['reference', 'path'] }
  if (STATUS_PATHS.has(path)) {
    return [{ ...at, message: `${quote(path)} is where the gateway tells callers their quota: choose another` }]
  }
  if (taken.has(path)) return [{ ...at, message: `${quote(path)} is where public has a document: choose another` }]
  if (path === USAGE_PATH) {
    return [{ ...at, message: `${quote(path)} is where the gateway tells callers what they used: choose another` }]
  }
  const segments = path.slice(1).split('/')
  const hidden = routes.findIndex(({ match }) => match !== undefined && isWithin(match, segments))
  if (hidden < 0) return []
  const line = lineOf(['routes', hidden, 'match'])
  return [{ ...at, message: `the route on line ${line} has this path, or one below it: choose another` }]
}

/** Whether the path of a rule is that of the page, or below it. A rule with `:name` or `*` in that part does not count. */
function isWithin({ segments }: Pattern, page: readonly string[]): boolean {
  return page.every((text, i) => {
    const segment = segments[i]
    return segment?.kind === 'literal' && decodeURIComponent(segment.text) === text
  })
}

function checkNames(services: NonNullable<PartialConfig['reference']>['services']): Finding[] {
  const first = new Map([[GATEWAY_NAME, 'the gateway itself']])
  return services.flatMap(({ name }, i): Finding[] => {
    const rival = name === undefined ? undefined : first.get(name)
    if (name !== undefined && rival === undefined) first.set(name, `reference.services[${i}]`)
    const message = `is the name of ${rival}, too: choose another`
    return rival === undefined ? [] : [{ path: ['reference', 'services', i, 'name'], message }]
  })
}
