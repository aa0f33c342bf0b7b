import { z } from 'zod'
import { isTokenName, mintToken, type TokenRecord, type TokenStore } from '../control/tokens.ts'
import { isUserId } from '../control/user.ts'
import { type Answer, ok, type Route, refusal } from './answer.ts'

/** The routes of gateway tokens. The token itself is in one answer only: the one that makes it. */
export function tokenRoutes(tokens: TokenStore, now: () => number): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/tokens',
      guard: 'token',
      handle: async () => ok({ tokens: (await tokens.listTokens()).map(shown) }),
    },
    { method: 'POST', path: '/api/tokens', guard: 'token', handle: ({ body }) => create(body, tokens, now()) },
    {
      method: 'DELETE',
      path: '/api/tokens/:id',
      guard: 'token',
      handle: ({ params }) => revoke(params.id ?? '', tokens, now()),
    },
  ]
}

const USER = `must be a text of 1 to 256 bytes without control characters: the user on whose quota the token draws`
const NAME = `must be a text of 1 to 64 characters without control characters: what the token is for`
const EXPIRES =
  'must be a time with its offset, for example 2030-01-31T00:00:00Z; leave it out for a token without an end'

const NewToken = z.strictObject(
  {
    user: z.string({ error: USER }).refine(isUserId, { error: USER }),
    name: z.string({ error: NAME }).refine(isTokenName, { error: NAME }),
    expiresAt: z.iso.datetime({ offset: true, error: EXPIRES }).nullish(),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'not a field of a token: use user, name and expiresAt'
        : 'must be a JSON object with user and name',
  },
)

async function create(body: unknown, tokens: TokenStore, now: number): Promise<Answer> {
  const parsed = NewToken.safeParse(body)
  if (!parsed.success) return refusal('bad_request', parsed.error.issues.map(sentence).join('; '))
  const { user, name, expiresAt } = parsed.data
  const end = expiresAt == null ? null : Date.parse(expiresAt)
  if (end !== null && end <= now) return refusal('bad_request', 'expiresAt: must be in the future')
  const { token, record } = mintToken({ user, name, expiresAt: end }, now)
  await tokens.insertToken(record)
  return { status: 201, body: { ...shown(record), token } }
}

function sentence(issue: z.core.$ZodIssue): string {
  const where = issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue.path.join('.')
  return `${where || 'body'}: ${issue.message}`
}

async function revoke(id: string, tokens: TokenStore, now: number): Promise<Answer> {
  return (await tokens.revokeToken(id, now))
    ? { status: 204 }
    : refusal('not_found', 'No token has this id: GET /api/tokens lists them.')
}

/** A record as it is shown: without its hash. */
function shown({ id, user, name, createdAt, expiresAt, revokedAt }: TokenRecord) {
  return { id, user, name, createdAt: iso(createdAt), expiresAt: iso(expiresAt), revokedAt: iso(revokedAt) }
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
