import { createHmac } from 'node:crypto'
import { SECRET } from './harness.ts'

/** A JWT of the test issuer for a user, good for an hour. */
export function jwtOf(user: string, claims: Record<string, unknown> = {}): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const text = `${part({ alg: 'HS256' })}.${part({ iss: 'https://id.test', aud: 'tollgate', sub: user, exp, ...claims })}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

export function bearer(user: string): { authorization: string } {
  return { authorization: `Bearer ${jwtOf(user)}` }
}
