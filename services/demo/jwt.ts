import { createHmac } from 'node:crypto'

const LIFETIME_S = 30 * 86_400

/** A JWT of the demo's issuer for a user, signed with HS256 and valid for 30 days from now. */
export function demoJwt(user: string, secret: string): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'demo', aud: 'score', sub: user, iat: now, exp: now + LIFETIME_S }
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => encoded(JSON.stringify(part))).join('.')
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}
