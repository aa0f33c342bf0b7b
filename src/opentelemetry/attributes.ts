import type { RequestDone } from '../observe/observation.ts'
import { SCOPE_TITLES } from '../quota/refusal.ts'

/** The attributes of a span: the semantic conventions of OpenTelemetry for HTTP servers, and `tollgate.*`. */

/** Other methods become `_OTHER`, because a client can invent as many as it likes. */
const METHODS: ReadonlySet<string> = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '))

/** Method and path of the rule; the method alone where no rule matched. */
export function nameOf({ method, route }: RequestDone): string {
  const known = METHODS.has(method) ? method : 'HTTP'
  const path = pathOf(route)
  return path === null ? known : `${known} ${path}`
}

/** The path of a rule, such as `/v1/user/:what`; `null` for none. */
function pathOf(route: string | null): string | null {
  const at = route?.indexOf(' ') ?? -1
  return route === null || at === -1 ? null : route.slice(at + 1)
}

/** @param hasUser whether the user is among the attributes */
export function attributesOf(done: RequestDone, hasUser: boolean): Record<string, string | number | boolean> {
  const { method, category, cost, charged, outcome, refusedBy, requestId, user, access } = done
  const attributes: Record<string, string | number | boolean | null> = {
    'http.request.method': METHODS.has(method) ? method : '_OTHER',
    'http.route': pathOf(done.route),
    // A client that left has got no status.
    'http.response.status_code': done.clientStatus === 499 ? null : done.clientStatus,
    'error.type': errorOf(done),
    'client.address': access?.address ?? null,
    'url.path': access?.path ?? null,
    'tollgate.request_id': requestId,
    'tollgate.outcome': outcome,
    'tollgate.category': category,
    'tollgate.cost': category === null ? null : cost,
    'tollgate.charged': category === null ? null : (charged ?? cost),
    'tollgate.refused_by': refusedBy === null ? null : `${SCOPE_TITLES[refusedBy.scope]} ${refusedBy.window}`,
    'tollgate.shadowed': done.shadowed || null,
    'tollgate.user': hasUser ? user : null,
  }
  for (const { category, cost, charged } of done.others ?? []) {
    attributes[`tollgate.cost.${category}`] = cost
    attributes[`tollgate.charged.${category}`] = charged ?? cost
  }
  return Object.fromEntries(
    Object.entries(attributes).filter((each): each is [string, string | number | boolean] => each[1] !== null),
  )
}

/** The error of a 5xx and of a failed forward: the code of the gateway, or the status. */
function errorOf({ error, clientStatus, outcome }: RequestDone): string | null {
  if (clientStatus < 500 && outcome !== 'failed') return null
  return error ?? String(clientStatus)
}
