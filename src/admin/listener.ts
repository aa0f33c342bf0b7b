import type { Server } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { patientClose } from '../lib/closing.ts'
import type { Certificate } from '../lib/tls.ts'
import { type Assets, pageResponse } from './assets.ts'
import { Desk, type DeskOptions } from './desk.ts'
import { EndedSessions } from './ended-sessions.ts'
import { inForm } from './form.ts'
import { type Asked, createGuard, type Guarded, guardedWithout } from './guard.ts'
import {
  type AdminResponse,
  badFields,
  type Call,
  type FieldProblem,
  type Guard,
  type Identity,
  type Route,
  refusal,
} from './http.ts'
import { unreadConditions } from './if-match.ts'
import { MAX_BODY } from './json-body.ts'
import { inForceRoutes } from './limits-now.ts'
import { formatOf, NOT_LINES, readLineBodies } from './line-body.ts'
import { Login, type SignInOptions } from './login.ts'
import { openapiRoute } from './openapi.ts'
import { permitted } from './permissions.ts'
import { Rosters } from './rosters.ts'
import { alertRoutes, type TestAlert } from './routes/alerts.ts'
import { auditRoutes } from './routes/audit.ts'
import { type Explain, explainRoutes } from './routes/explain.ts'
import { failureRoutes } from './routes/failures.ts'
import { grantRoutes } from './routes/grants.ts'
import { handoverRoute } from './routes/handover.ts'
import { nowRoutes } from './routes/now.ts'
import { organisationRoutes } from './routes/organisations.ts'
import { overridesRoutes } from './routes/overrides-file.ts'
import { plansRoutes } from './routes/plans.ts'
import { type ProbeOptions, probeRoutes } from './routes/probes.ts'
import { quotaRoutes } from './routes/quota.ts'
import { refusalRoutes } from './routes/refusals.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { tokenImportRoute } from './routes/tokens-import.ts'
import { usageRoutes } from './routes/usage.ts'
import { userRoutes } from './routes/users.ts'
import { createServer, METHODS, send } from './server.ts'
import { sessionRoutes } from './sessions.ts'

export interface AdminOptions extends ProbeOptions, DeskOptions, Omit<SignInOptions, 'login'> {
  /** Port 0 means any free port. */
  readonly listen: { readonly host: string; readonly port: number }
  /** Default a new one without a sign-in link. */
  readonly login?: Login
  /** `null` for requests without TLS. */
  readonly certificate?: Certificate | null
  /** Additional names for the Host header, in lower case. Address literals, localhost and `listen.host` are always allowed. */
  readonly hosts?: readonly string[]
  readonly explain: Explain
  readonly testAlert: TestAlert
  /** The dashboard; `null` for none. */
  readonly assets: Assets | null
  /** The version of Tollgate, for the OpenAPI document. */
  readonly version: string
}

export interface Admin {
  /** @throws Error if the address is not available */
  listen(): Promise<{ url: string }>
  /** For a caller that opens the port itself. @returns the server, ready for connections */
  ready(): Promise<Server>
  /** Closes idle connections at once, and all others after at most 2 seconds. */
  close(): Promise<void>
}

type Check = ReturnType<typeof createGuard>
/** The check of the guard, followed by the question whether the session was signed out. */
type WholeCheck = (guard: Guard, asked: Asked) => Promise<Guarded>

/** Decides who may use a route: before the body is read, and then for the subject of the call. */
interface Rules {
  readonly check: WholeCheck
  readonly permit: (call: Call, route: Route) => Promise<Call | AdminResponse>
}

/** The listener for operators, with probes, metrics, the JSON API and the dashboard. It can never be reached through the gateway. */
export function createAdmin(options: AdminOptions): Admin {
  const { listen, certificate = null, credentials, hosts = [], now, observe = () => {} } = options
  const { login = new Login({ credentials, now }) } = options
  const encrypted = certificate !== null
  const check = createGuard({ ...options, login, encrypted, names: [listen.host.toLowerCase(), ...hosts] })
  const app = createServer(certificate, (request) => isUrgent(request, check), observe)
  const ended = new EndedSessions(options.store, now)
  const desk = new Desk(options)
  const routes = routesOf(options, login, ended, desk)
  const checkWhole: WholeCheck = async (guard, asked) => {
    const guarded = check(guard, asked)
    const isEnded = 'identity' in guarded && guarded.identity !== null && (await ended.has(guarded.identity))
    return isEnded ? guardedWithout(guard) : guarded
  }
  const rules: Rules = { check: checkWhole, permit: (call, route) => permitted(call, route, desk) }
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) addPath(app, path, methods, rules)
  addPage(app, options.assets, check)
  return {
    listen: async () => ({ url: await app.listen({ host: listen.host, port: listen.port }) }),
    ready: async () => {
      await app.ready()
      return app.server
    },
    close: patientClose(app.server, () => app.close()),
  }
}

/** Whether the environment or an administrator needs the request even when all connections of the listener are busy. */
function isUrgent({ method, headers, ip, url }: FastifyRequest, check: Check): boolean {
  const path = url.split('?', 1)[0]
  if (path === '/livez' || path === '/readyz') return true
  const guarded = check('session', { method, headers, address: ip })
  return 'identity' in guarded && guarded.identity !== null
}

/** Every route of the listener, without the files of the dashboard. */
export function routesOf(options: AdminOptions, login: Login, ended: EndedSessions, desk = new Desk(options)): Route[] {
  const rosters = new Rosters(desk)
  const routes = [
    ...probeRoutes(options),
    ...sessionRoutes({ ...options, login, ended, encrypted: options.certificate != null }),
    ...quotaRoutes(desk),
    ...plansRoutes(desk),
    ...userRoutes(desk, rosters),
    ...overridesRoutes(desk),
    ...organisationRoutes(desk, rosters),
    ...grantRoutes(desk),
    ...inForceRoutes(desk),
    ...explainRoutes(desk, options.explain),
    ...nowRoutes(desk, options.now),
    ...failureRoutes(options.store),
    ...alertRoutes(options),
    ...refusalRoutes(desk),
    ...usageRoutes(desk),
    ...tokenRoutes(desk, options.now),
    tokenImportRoute(desk, options.now),
    handoverRoute(desk, login, options.now),
    ...auditRoutes(desk),
  ]
  return [...routes, openapiRoute(routes, options.version)]
}

/** The guard for methods that a path does not have, from the guard of a method that it has. Such a request gets 405 and does nothing. */
function guardOfOthers(guard: Guard): Guard {
  if (guard === 'machine') return 'page'
  return guard === 'change' ? 'read' : guard
}

/** A path whose body is no JSON gets a context of its own. */
function addPath(app: FastifyInstance, path: string, routes: readonly Route[], rules: Rules): void {
  if (routes.some(({ takesLines }) => takesLines === true)) {
    app.register(async (own) => {
      readLineBodies(own)
      addMethods(own, path, routes, rules)
    })
  } else addMethods(app, path, routes, rules)
}

/** Adds one path with all its methods. Whether a request may go on is decided before its body is read. */
function addMethods(app: FastifyInstance, path: string, routes: readonly Route[], rules: Rules): void {
  const routeOf = (method: string) => routes.find((route) => route.method === (method === 'HEAD' ? 'GET' : method))
  const allow = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  const usual = guardOfOthers(routes[0]?.guard ?? 'read')
  const identities = new WeakMap<FastifyRequest, Identity | null>()
  app.route({
    method: [...METHODS],
    url: path,
    bodyLimit: Math.min(...routes.map(({ maxBody = MAX_BODY }) => maxBody)),
    async onRequest(request, reply) {
      const { method, headers, ip } = request
      const route = routeOf(method)
      const guarded = await rules.check(route?.guard ?? usual, { method, headers, address: ip, operation: route })
      if ('status' in guarded) return send(reply, guarded)
      if (route === undefined) return send(reply, notAllowed(allow))
      const isOfLines = formatOf(headers['content-type'] ?? '') !== null
      if (route.takesLines === true && method === 'PUT' && !isOfLines) return send(reply, NOT_LINES)
      identities.set(request, guarded.identity)
    },
    async handler(request, reply) {
      const { params, query, body } = request as {
        params: Record<string, string>
        query: Record<string, unknown>
        body: unknown
      }
      const { headers, ip: address } = request
      const route = routeOf(request.method)
      if (route === undefined) return send(reply, notAllowed(allow))
      const unread = [...unreadConditions(route, headers), ...unreadParameters(route, query)]
      if (unread.length > 0) return send(reply, badFields(unread))
      const identity = identities.get(request) ?? null
      const call = { params, query, body, headers, address, identity, signal: untilGone(reply) }
      const judged = await rules.permit(call, route)
      if ('status' in judged) return send(reply, judged)
      const response = await route.handle(judged)
      return send(reply, route.method === 'GET' ? await inForm(response, headers) : response)
    },
  })
}

/** A route without parameters refuses a query, because a client that sends a parameter expects it to be used. */
function unreadParameters({ path, doc }: Route, query: object): readonly FieldProblem[] {
  if (doc.query !== undefined || !path.startsWith('/api/')) return []
  const msg = 'unknown parameter: this has none in its query'
  return Object.keys(query).map((name) => ({ path: name, msg }))
}

/** A signal that is aborted when the response closes. Fastify's own signal follows the request, which ends when its body was read. */
function untilGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  // The client may have left while the store was asked whether the session was signed out.
  if (raw.destroyed) gone.abort()
  raw.once('close', () => gone.abort())
  return gone.signal
}

/** A path without a route may be a file or a page of the dashboard. */
function addPage(app: FastifyInstance, assets: Assets | null, check: Check): void {
  app.setNotFoundHandler(async (request, reply) => {
    const { method, headers, ip, url } = request
    if (method !== 'GET' && method !== 'HEAD') return send(reply, NOTHING_HERE)
    const guarded = check('page', { method, headers, address: ip })
    if ('status' in guarded) return send(reply, guarded)
    const page = await pageResponse(assets, { path: url.split('?', 1)[0] ?? '', headers })
    return send(reply, page ?? NOTHING_HERE)
  })
}

const NOTHING_HERE = refusal('not_found', 'There is nothing at this path.')

function notAllowed(allow: string): AdminResponse {
  return refusal('method_not_allowed', `Use one of: ${allow}.`, { allow })
}
