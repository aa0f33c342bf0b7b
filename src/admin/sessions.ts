import { z } from 'zod'
import * as schemas from '../contract/admin.ts'
import type { SessionResponse } from '../contract/api.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { EndedSessions } from './ended-sessions.ts'
import { readFields } from './fields.ts'
import {
  type AdminResponse,
  badFields,
  type Call,
  type Headers,
  type Identity,
  iso,
  NO_CONTENT,
  ok,
  type Route,
  refusal,
} from './http.ts'
import type { Login } from './login.ts'
import { type AdminToken, endedCookie, identityOf, SESSION_MS, sessionCookie } from './session-cookie.ts'

/** Of the body of a sign-in, in bytes: anybody may send one. */
const MAX_LOGIN = 4096
const TOKEN = 'must be an admin token'
const CODE = 'must be the code of a sign-in link'
const secret = (error: string, description: string) =>
  z.string({ error }).min(1, { error }).max(1024, { error }).meta({ description }).optional()
const Credential = z
  .strictObject({
    token: secret(TOKEN, 'An admin token of the configuration'),
    code: secret(CODE, 'The code of a sign-in link instead: good once, for 10 minutes'),
  })
  .refine(({ token, code }) => token !== undefined || code !== undefined, {
    error: `${TOKEN}; or send the code of a sign-in link`,
    path: ['token'],
  })
  .refine(({ token, code }) => token === undefined || code === undefined, {
    error: 'must not come with a token: send one of the two',
    path: ['code'],
  })
  .meta({ oneOf: [{ required: ['token'] }, { required: ['code'] }] })

export interface SessionOptions {
  readonly login: Login
  /** The admin tokens in force now. */
  readonly credentials: () => readonly AdminToken[]
  readonly ended: EndedSessions
  readonly now: () => number
  /** Whether requests come to us by TLS. */
  readonly encrypted: boolean
}

/** Signing in and out of the page. */
export function sessionRoutes({ login, credentials, ended, now, encrypted }: SessionOptions): Route[] {
  const isSecure = (headers: Headers): boolean => encrypted || cameByTls(headers)

  return [
    {
      method: 'GET',
      path: '/api/session',
      guard: 'session',
      doc: {
        summary: 'Whose session or admin token the request came with, if any',
        responses: { 200: schemas.session },
      },
      handle: ({ identity }) =>
        ok({
          name: identity?.name ?? null,
          role: identity?.role ?? null,
          expiresAt: identity?.expiresAt == null ? null : iso(identity.expiresAt),
        } satisfies SessionResponse),
    },
    {
      method: 'POST',
      path: '/api/session',
      guard: 'login',
      maxBody: MAX_LOGIN,
      doc: {
        summary:
          'Signs in for 12 hours, by an admin token or by the code of a sign-in link, and sets the cookie of the session',
        body: Credential,
        responses: { 200: schemas.session },
        errors: ['unauthorized', 'no_admin_token', 'too_many_attempts'],
      },
      handle: (call) => signIn(login, call, now(), isSecure(call.headers)),
    },
    {
      method: 'DELETE',
      path: '/api/session',
      guard: 'login',
      doc: {
        summary: 'Signs out: the session is good at no gateway any more, and the response clears the cookie',
        responses: { 204: null },
        errors: ['store_unavailable'],
      },
      async handle({ headers }) {
        const identity = identityOf(String(headers.cookie ?? ''), credentials(), now())
        const response = identity === null ? NO_CONTENT : await signOut(ended, identity)
        return { ...response, headers: { ...response.headers, 'set-cookie': endedCookie(isSecure(headers)) } }
      },
    },
  ]
}

async function signOut(ended: EndedSessions, identity: Identity): Promise<AdminResponse> {
  try {
    await ended.end(identity)
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

function signIn(login: Login, { body, address }: Call, now: number, isSecure: boolean): AdminResponse {
  const fields = readFields(Credential, body)
  if ('problems' in fields) return badFields(fields.problems)
  const { token = null, code } = fields.data
  const found = code === undefined ? login.check(token, address) : login.checkCode(code, address)
  if ('status' in found) return found
  const expiresAt = now + SESSION_MS
  const response: SessionResponse = { name: found.name, role: found.role, expiresAt: iso(expiresAt) }
  return ok(response, { 'set-cookie': sessionCookie(found, expiresAt, isSecure) })
}

/** Where we listen in the clear: whoever ends TLS in front of us says so, and so does the browser. A lie harms only the liar. */
function cameByTls(headers: Headers): boolean {
  return /^https\b/i.test(String(headers['x-forwarded-proto'] ?? '')) || /^https:/.test(String(headers.origin ?? ''))
}
