import { z } from 'zod'
import * as schemas from '../contract/admin.ts'
import type { SessionResponse, SignInBegunResponse } from '../contract/api.ts'
import { ADMIN_SESSIONS } from '../control/admin-session.ts'
import { ledBy, type Role } from '../control/role.ts'
import { type SignedIn, SignInError } from '../control/sign-in-provider.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { EndedSessions } from './ended-sessions.ts'
import {
  type AdminResponse,
  type Call,
  type Headers,
  type Identity,
  iso,
  isoOrNull,
  NO_CONTENT,
  ok,
  type Route,
  refusal,
} from './http.ts'
import type { SignInOptions } from './login.ts'
import { type People, personOf, sourceOf } from './people.ts'
import { route } from './route.ts'
import {
  type AdminToken,
  cameByTls,
  endedCookie,
  endedSignInCookie,
  keptIn,
  personCookie,
  SESSION_MS,
  sessionCookie,
  sessionsIn,
  signInCookie,
} from './session-cookie.ts'

/** In bytes. Anybody may send the body of a sign-in. */
const MAX_LOGIN = 4096
const TOKEN = 'must be an admin token'
const CODE = 'must be the code of a sign-in link'
const RETURNED = 'must be the query by which the provider sent the browser back, in at most 3000 characters'
/** The page to which the provider sends the browser back. The page sends the query of its address to POST /api/session. */
const CALLBACK = '/sign-in'
const secret = (error: string, description: string) =>
  z.string({ error }).min(1, { error }).max(1024, { error }).describe(description).optional()
const Credential = z
  .strictObject({
    token: secret(TOKEN, 'An admin token of the configuration'),
    code: secret(CODE, 'The code of a sign-in link instead: good once, for 10 minutes'),
    returned: z
      .string({ error: RETURNED })
      .min(1, { error: RETURNED })
      .max(3000, { error: RETURNED })
      .describe(
        'Instead of a token, the query of the address to which the provider of POST /api/session/provider has sent the browser back',
      )
      .optional(),
  })
  .refine((fields) => given(fields) === 1, {
    error:
      'must have one of token, code and returned: an admin token, the code of a sign-in link, or the query by which the provider sent the browser back',
  })
  .meta({ oneOf: [{ required: ['token'] }, { required: ['code'] }, { required: ['returned'] }] })

function given(fields: object): number {
  return Object.values(fields).filter((value) => value !== undefined).length
}

export interface SessionOptions extends SignInOptions {
  readonly ended: EndedSessions
  /** Whether requests come by TLS. */
  readonly encrypted: boolean
}

/** Signing in and out of the dashboard. */
export function sessionRoutes(options: SessionOptions): Route[] {
  const { login, credentials, people = () => null, ended, now, encrypted } = options
  const isSecure = (headers: Headers): boolean => encrypted || cameByTls(headers)

  return [
    beginRoute(people, isSecure),
    route('GET', '/api/session', {
      guard: 'session',
      summary: 'Who is signed in, by the session or the admin token of this request',
      responses: { 200: schemas.session },
      handle: ({ identity }) =>
        ok({
          name: identity?.name ?? null,
          ...roleShown(identity?.role ?? null),
          expiresAt: isoOrNull(identity?.expiresAt ?? null),
          ...providerOf(people()),
        } satisfies SessionResponse),
    }),
    route('POST', '/api/session', {
      guard: 'login',
      maxBody: MAX_LOGIN,
      summary: 'Signs in and sets the cookie of the session',
      more: 'A session lasts 12 hours if an admin token or the code of a sign-in link began it, and admin.oidc.session if a provider did.',
      reads: Credential,
      responses: { 200: schemas.session },
      errors: [
        'unauthorized',
        'no_admin_token',
        'too_many_attempts',
        'sign_in_failed',
        'no_role',
        'not_found',
        'provider_unavailable',
      ],
      handle(call) {
        const { token = null, code, returned } = call.body
        const by = { call, now: now(), isSecure: isSecure(call.headers) }
        if (returned !== undefined) return finish(returned, { people: people(), tokens: credentials(), ...by })
        return signIn(code === undefined ? login.check(token, call.address) : login.checkCode(code, call.address), by)
      },
    }),
    route('DELETE', '/api/session', {
      guard: 'login',
      summary: 'Signs out. The session ends at every gateway, and the response clears the cookie',
      responses: { 204: null },
      errors: ['store_unavailable'],
      async handle({ headers }) {
        const holders = { tokens: credentials(), people: people() }
        const response = await signOut(ended, sessionsIn(String(headers.cookie ?? ''), ADMIN_SESSIONS, holders, now()))
        return { ...response, headers: { ...response.headers, 'set-cookie': endedCookie(isSecure(headers)) } }
      },
    }),
  ]
}

/** Ends all sessions of the browser. With TLS the plain cookie is not accepted, but its session ends too, because there may be a copy of it. */
async function signOut(ended: EndedSessions, sessions: readonly Identity[]): Promise<AdminResponse> {
  try {
    await Promise.all(sessions.map((session) => ended.end(session)))
    return NO_CONTENT
  } catch (error) {
    if (error instanceof StoreError) return NOT_EVERYWHERE
    throw error
  }
}

const NOT_EVERYWHERE = refusal(
  'store_unavailable',
  'The session has ended at this gateway, and the store lets no other gateway know: there a copy of the cookie is good until its end. If there may be a copy, replace the admin token.',
)

/** How a sign-in arrived. */
interface SigningIn {
  readonly call: Call
  readonly now: number
  readonly isSecure: boolean
}

function signIn(found: AdminToken | AdminResponse, { now, isSecure }: Omit<SigningIn, 'call'>): AdminResponse {
  if ('status' in found) return found
  const expiresAt = now + SESSION_MS
  const response: SessionResponse = { name: found.name, ...roleShown(found.role), expiresAt: iso(expiresAt) }
  return ok(response, { 'set-cookie': sessionCookie(found, expiresAt, isSecure) })
}

/** The role as the API shows it: a lead has the organisation in a field of its own. */
function roleShown(role: Role | null): Pick<SessionResponse, 'role' | 'organisation'> {
  const organisation = role === null ? null : ledBy(role)
  if (organisation !== null) return { role: 'lead', organisation }
  return { role: role as 'admin' | 'viewer' | null }
}

function providerOf(people: People | null): Pick<SessionResponse, 'provider'> {
  return people === null ? {} : { provider: people.host }
}

/** The route that begins a sign-in at the provider. The dashboard opens the returned address, and pages of other origins are refused. */
function beginRoute(people: () => People | null, isSecure: (headers: Headers) => boolean): Route {
  return route('POST', '/api/session/provider', {
    guard: 'login',
    maxBody: MAX_LOGIN,
    summary: 'Begins a sign-in at the provider of admin.oidc, and returns the address that the page should open',
    responses: { 200: schemas.signInBegun },
    errors: ['not_found', 'provider_unavailable'],
    async handle({ headers }) {
      const asked = people()
      if (asked === null) return NO_PROVIDER
      const origin = originOf(headers)
      if (origin === null) return NO_PAGE
      try {
        const { to, kept } = await asked.provider.begin(origin + CALLBACK)
        return ok({ to } satisfies SignInBegunResponse, { 'set-cookie': signInCookie(kept, isSecure(headers)) })
      } catch (error) {
        return refusalOf(error)
      }
    },
  })
}

const NO_PROVIDER = refusal('not_found', 'No provider is configured: set admin.oidc, or sign in with an admin token.')
const NO_PAGE = refusal('bad_request', 'A page begins this: its field Origin must name this host.')
const NOT_BEGUN = refusal(
  'sign_in_failed',
  'This sign-in was begun in another browser or more than 10 minutes ago, or it is over already. Begin it again.',
)

/**
 * The origin of our page, as a browser sends it with each POST. It has the scheme by which the browser reaches us, whatever proxy is in
 * front. The guard has checked the host.
 */
function originOf({ origin, host }: Headers): string | null {
  if (typeof origin !== 'string' || !URL.canParse(origin)) return null
  const url = new URL(origin)
  return /^https?:$/.test(url.protocol) && url.host === String(host).toLowerCase() ? url.origin : null
}

interface Finishing extends SigningIn {
  readonly people: People | null
  readonly tokens: readonly AdminToken[]
}

/** Ends a sign-in at the provider. Once the provider was asked, the response deletes the sign-in cookie, whether or not the person has a role. */
async function finish(returned: string, options: Finishing): Promise<AdminResponse> {
  const { people, call, now, isSecure } = options
  if (people === null) return NO_PROVIDER
  const origin = originOf(call.headers)
  const kept = keptIn(String(call.headers.cookie ?? ''), isSecure)
  if (origin === null || kept === null) return origin === null ? NO_PAGE : NOT_BEGUN
  const found = await vouchedBy(people, new URL(`${origin}${CALLBACK}?${returned}`), kept)
  const person =
    'status' in found
      ? found
      : personOf(found, { roles: people.roles, tokens: options.tokens, source: sourceOf(people) })
  if ('status' in person) return withCookies(person, [endedSignInCookie(isSecure)])
  const expiresAt = now + people.sessionMs
  const response: SessionResponse = { name: person.name, ...roleShown(person.role), expiresAt: iso(expiresAt) }
  const session = personCookie(people, { person, expiresAt }, isSecure)
  return withCookies(ok({ ...response, ...providerOf(people) }), [session, endedSignInCookie(isSecure)])
}

async function vouchedBy({ provider }: People, returned: URL, kept: string): Promise<SignedIn | AdminResponse> {
  try {
    return await provider.finish(returned, kept)
  } catch (error) {
    return refusalOf(error)
  }
}

function refusalOf(error: unknown): AdminResponse {
  if (!(error instanceof SignInError)) throw error
  const isAway = error.kind === 'away'
  return refusal(
    isAway ? 'provider_unavailable' : 'sign_in_failed',
    `${error.message} ${isAway ? 'Sign in with an admin token meanwhile.' : 'Begin again.'}`,
  )
}

function withCookies(response: AdminResponse, cookies: string[]): AdminResponse {
  return { ...response, headers: { ...response.headers, 'set-cookie': cookies } }
}
