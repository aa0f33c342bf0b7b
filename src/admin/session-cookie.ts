import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Role } from '../contract/api.ts'
import { ADMIN_SESSION, ADMIN_SESSIONS, SECURE_ADMIN_SESSION } from '../control/admin-session.ts'
import type { Identity } from './http.ts'

/** An admin token of the configuration. */
export interface AdminToken {
  /** What the audit calls its changes by. */
  readonly name: string
  readonly role: Role
  readonly token: string
}

/**
 * Sessions of the page: a cookie instead of the token. Nothing is kept for a session before it is signed out. The cookie holds its own end,
 * signed with a key that is drawn from the token itself. So it is good on every replica, after every restart, and under any name that
 * the token gets. It ends when the token is taken out of the configuration or replaced.
 */

export const SESSION_MS = 12 * 60 * 60 * 1000
/**
 * How much the clock of the replica that made a session may be ahead of ours. The one sets the end, the other judges
 * it.
 */
export const CLOCKS_APART_MS = 5 * 60 * 1000
const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/'
/** A browser may hold several cookies of our name, for other paths or domains. More than this are not looked at. */
const MAX_COOKIES = 5

/** @param secure if the page came by TLS: the browser then never sends the cookie in the clear, and takes it from this host only */
export function sessionCookie(token: AdminToken, expiresAt: number, secure: boolean): string {
  return cookie(sealSession(token, expiresAt), SESSION_MS / 1000, secure)
}

export function endedCookie(secure: boolean): string {
  return cookie('', 0, secure)
}

function cookie(value: string, seconds: number, secure: boolean): string {
  const attributes = `${ATTRIBUTES}; Max-Age=${seconds}`
  return secure ? `${SECURE_ADMIN_SESSION}=${value}; ${attributes}; Secure` : `${ADMIN_SESSION}=${value}; ${attributes}`
}

/** Whose session a Cookie header holds; `null` for no good one. The role is that of the token now. */
export function identityOf(header: string | undefined, tokens: readonly AdminToken[], now: number): Identity | null {
  const sealed = (header ?? '')
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .filter(([name = '']) => ADMIN_SESSIONS.has(name))
    .slice(0, MAX_COOKIES)
  for (const [, value = ''] of sealed) {
    const identity = openSession(value, tokens, now)
    if (identity !== null) return identity
  }
  return null
}

/** `EXPIRY.MAC`, the expiry in milliseconds since the epoch. */
function sealSession(token: AdminToken, expiresAt: number): string {
  return `${expiresAt}.${mac(String(expiresAt), token).toString('base64url')}`
}

function openSession(sealed: string, tokens: readonly AdminToken[], now: number): Identity | null {
  const [, expiry = '', given = ''] = /^(\d{1,15})\.([\w-]{43})$/.exec(sealed) ?? []
  const expiresAt = Number(expiry)
  // A session that was made while the clock was ahead would last as much longer.
  const left = expiresAt - now
  if (left <= 0 || left > SESSION_MS + CLOCKS_APART_MS) return null
  const bytes = Buffer.from(given, 'base64url')
  const token = tokens.find((each) => bytes.length === 32 && timingSafeEqual(bytes, mac(expiry, each)))
  if (token === undefined) return null
  return { name: token.name, role: token.role, expiresAt, session: idOf(sealed) }
}

/** What the store may know of a session: nobody makes the cookie of it. */
function idOf(sealed: string): string {
  return createHash('sha256').update(sealed).digest('base64url').slice(0, 22)
}

function mac(content: string, token: AdminToken): Buffer {
  return createHmac('sha256', keyOf(token)).update(content).digest()
}

/** Any cookie is tried with each token, and to draw a key takes four times as long as to use it. */
const keys = new WeakMap<AdminToken, Buffer>()

function keyOf(token: AdminToken): Buffer {
  const known = keys.get(token)
  if (known !== undefined) return known
  const key = Buffer.from(hkdfSync('sha256', token.token, '', 'tollgate admin session 1', 32))
  keys.set(token, key)
  return key
}
