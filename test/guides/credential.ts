import { jwtOf } from '../e2e/jwt.ts'

/** What a user of a page has in `Authorization`, if the service signs its JWTs itself. */
export function credentialOf(user: string, claims: Record<string, unknown> = {}): string {
  return `Bearer ${jwtOf(user, { iss: 'https://id.example.org', aud: 'shop', ...claims })}`
}

/** What a request of that user has besides. */
export function as(user: string): { headers: { authorization: string } } {
  return { headers: { authorization: credentialOf(user) } }
}
