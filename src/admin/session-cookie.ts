import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import {
  ADMIN_SESSION,
  ADMIN_SESSIONS,
  ADMIN_SIGN_IN,
  SECURE_ADMIN_SESSION,
  SECURE_ADMIN_SIGN_IN,
} from '../control/admin-session.ts'
import type { Role } from '../control/role.ts'
import { onceForEach } from '../lib/memo.ts'
import type { Headers, Identity } from './http.ts'
import { type People, type Person, personOf, sourceOf } from './people.ts'

/** A configured admin token. */
export interface AdminToken {
  /** The name in the audit. */
  readonly name: string
  readonly role: Role
  readonly token: string
}

/** Who may have sessions. */
export interface Holders {
  readonly tokens: readonly AdminToken[]
  /** `null` if no provider signs people in. */
  readonly people: People | null
}

/**
 * Sessions of the dashboard: a cookie instead of the token. Nothing is stored for a session until it is signed out. The cookie contains its
 * end, signed with a key that is derived from the token. So it is valid on every replica, after every restart, and even if the token is
 * renamed. It ends when the token is removed from the configuration or replaced.
 *
 * The cookie of a person also contains the name and the group that gave the role. It is signed with a key derived from the gateway's secret
 * at the provider, and ends when the configuration no longer gives that group a role.
 */

export const SESSION_MS = 12 * 60 * 60 * 1000
/**
 * By how much the clock of the replica that made a session may be ahead. That replica sets the end, and another one may
 * judge it.
 */
export const CLOCKS_APART_MS = 5 * 60 * 1000
const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/'
/** How many cookies of our name are checked. A browser may have several, for other paths or domains. */
const MAX_COOKIES = 5

/** @param secure whether the page came by TLS. The browser then sends the cookie only by TLS, and accepts it from this host only */
export function sessionCookie(token: AdminToken, expiresAt: number, secure: boolean): string {
  return ofSession(sealed(String(expiresAt), keyOfToken(token)), SESSION_MS, secure)
}

/** The session cookie of a person whom a provider has signed in. */
export function personCookie(
  people: People,
  { person, expiresAt }: { readonly person: Person; readonly expiresAt: number },
  secure: boolean,
): string {
  const { name, group } = person
  const content = `${expiresAt}.${Buffer.from(JSON.stringify([name, group])).toString('base64url')}`
  return ofSession(sealed(content, keyOfPeople(people)), people.sessionMs, secure)
}

export function endedCookie(secure: boolean): string {
  return ofSession('', 0, secure)
}

function ofSession(value: string, ms: number, secure: boolean): string {
  return cookie(secure ? SECURE_ADMIN_SESSION : ADMIN_SESSION, { value, ms, secure })
}

/** How long a browser may stay at the provider, in milliseconds. */
const SIGN_IN_MS = 10 * 60 * 1000

/** The cookie of a sign-in until the browser is back. It binds the sign-in to this browser. */
export function signInCookie(kept: string, secure: boolean): string {
  return cookie(nameOfSignIn(secure), { value: kept, ms: SIGN_IN_MS, secure })
}

export function endedSignInCookie(secure: boolean): string {
  return cookie(nameOfSignIn(secure), { value: '', ms: 0, secure })
}

/** The value of the sign-in cookie; `null` if there is none, or if there are two, because one of them is not ours. */
export function keptIn(header: string | undefined, secure: boolean): string | null {
  const [first, another] = valuesOf(header, new Set([nameOfSignIn(secure)]))
  return first === undefined || another !== undefined ? null : first
}

/** With TLS only the `__Host-` name counts. A page of a sibling domain can set the plain cookie, and so sign this browser in as somebody else. */
function nameOfSignIn(secure: boolean): string {
  return secure ? SECURE_ADMIN_SIGN_IN : ADMIN_SIGN_IN
}

function cookie(
  name: string,
  { value, ms, secure }: { readonly value: string; readonly ms: number; readonly secure: boolean },
): string {
  return `${name}=${value}; ${ATTRIBUTES}; Max-Age=${Math.floor(ms / 1000)}${secure ? '; Secure' : ''}`
}

function valuesOf(header: string | undefined, names: ReadonlySet<string>): string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .filter(([name = '']) => names.has(name))
    .slice(0, MAX_COOKIES)
    .map(([, value = '']) => value)
}

/** How a request arrives. */
export interface Coming {
  readonly now: number
  /** Whether it certainly came by TLS. */
  readonly secure: boolean
}

/**
 * The owner of the session in a Cookie header; `null` without a valid session. The role is the present role of the token or group. With TLS
 * only the `__Host-` cookie counts. If TLS is uncertain, that cookie goes before the plain one, which a sibling domain may have set.
 */
export function identityOf(header: string | undefined, holders: Holders, { now, secure }: Coming): Identity | null {
  const own = sessionsIn(header, new Set([SECURE_ADMIN_SESSION]), holders, now)[0] ?? null
  return own !== null || secure ? own : (sessionsIn(header, ADMIN_SESSIONS, holders, now)[0] ?? null)
}

/** All valid sessions in a Cookie header under these names. */
export function sessionsIn(
  header: string | undefined,
  names: ReadonlySet<string>,
  holders: Holders,
  now: number,
): Identity[] {
  return valuesOf(header, names).flatMap((value) => openSession(value, holders, now) ?? [])
}

/** Whether a proxy in front or the browser says that the request came by TLS. A wrong value harms only its sender. */
export function cameByTls(headers: Headers): boolean {
  return /^https\b/i.test(String(headers['x-forwarded-proto'] ?? '')) || /^https:/.test(String(headers.origin ?? ''))
}

/** A session: its end in milliseconds since the epoch, for a person also `[name, group]` in base64url, and the MAC of the text before it. */
const SEALED = /^((\d{1,15})(?:\.([\w-]{1,2048}))?)\.([\w-]{43})$/

function sealed(content: string, key: Buffer): string {
  return `${content}.${mac(content, key).toString('base64url')}`
}

function openSession(sealed: string, { tokens, people }: Holders, now: number): Identity | null {
  const [, content = '', expiry = '', payload, given = ''] = SEALED.exec(sealed) ?? []
  const expiresAt = Number(expiry)
  const longest = payload === undefined ? SESSION_MS : (people?.sessionMs ?? 0)
  // A session that was made while the clock was ahead would last too long.
  const left = expiresAt - now
  if (left <= 0 || left > longest + CLOCKS_APART_MS) return null
  const bytes = Buffer.from(given, 'base64url')
  const isSealedWith = (key: Buffer) => bytes.length === 32 && timingSafeEqual(bytes, mac(content, key))
  const holder =
    payload === undefined
      ? tokens.find((token) => isSealedWith(keyOfToken(token)))
      : people !== null && isSealedWith(keyOfPeople(people))
        ? personIn(payload, people, tokens)
        : undefined
  if (holder === undefined || 'status' in holder) return null
  return { name: holder.name, role: holder.role, expiresAt, isAmbient: true, session: idOf(sealed) }
}

/** The person of a session, with the role that the present configuration gives. @param payload with a valid MAC */
function personIn(payload: string, people: People, tokens: readonly AdminToken[]): ReturnType<typeof personOf> {
  const [name, group] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [string, string]
  return personOf({ name, groups: [group] }, { roles: people.roles, tokens, source: sourceOf(people) })
}

/** The name of a session in the store, from which nobody can make the cookie. */
function idOf(sealed: string): string {
  return createHash('sha256').update(sealed).digest('base64url').slice(0, 22)
}

function mac(content: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest()
}

/** Keys are derived once, because every cookie is tried with each token, and deriving a key takes longer than using it. */
const keyOfToken = onceForEach(({ token }: AdminToken) => derived(token, 'tollgate admin session 1'))
const keyOfPeople = onceForEach(({ secret }: People) => derived(secret, 'tollgate admin session of a person 1'))

function derived(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
}
