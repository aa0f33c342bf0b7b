import { z } from 'zod'
import { KINDS } from '../../control/control-store.ts'
import { askedPrice } from '../price.ts'
import { ends } from './layers.ts'
import { unfollowed } from './settings.ts'
import { count, name, time } from './values.ts'

/** Lists: access keys, routes, the audit. */

export const token = name(
  z.strictObject({
    id: z.string(),
    user: z.string(),
    name: z.string(),
    plan: z.string().optional(),
    organisation: z.string().optional(),
    createdAt: time,
    expiresAt: time.nullable(),
    revokedAt: time.nullable(),
    lastUsedAt: time.nullable(),
    state: z.enum(['valid', 'expired', 'revoked']),
  }),
  'Token',
  'An access key, without its secret. `plan` and `organisation` are present if the key names them.',
)

export const tokens = name(
  z.strictObject({ tokens: z.array(token) }),
  'Tokens',
  'All access keys, including revoked and expired ones. The newest comes first.',
)

export const revokedTokens = name(
  z.strictObject({ user: z.string(), revoked: z.int().min(0) }),
  'RevokedTokens',
  'How many access keys of a user were revoked. Keys that had been revoked before do not count.',
)

export const importedTokens = name(
  z.strictObject({ imported: count, known: count }),
  'ImportedTokens',
  'How many keys of the file were taken over, and how many were known already.',
)

export const madeToken = name(
  token.extend({ token: z.string() }),
  'MadeToken',
  'A new access key with its secret, which is shown only in this response.',
)

export const tokenToHandOver = name(
  token.extend({ handover: z.strictObject({ path: z.string(), expiresAt: time }) }),
  'TokenToHandOver',
  'A new access key without its secret, and the link that shows the secret once.',
)

/** The access key itself, or with `handover` in the body a link to it. */
export const newToken = z.union([madeToken, tokenToHandOver])

export const handedOver = name(
  z.strictObject({ user: z.string(), name: z.string(), token: z.string(), expiresAt: time.nullable() }),
  'HandedOver',
  'The access key itself, which is shown only in this response.',
)

const route = z.strictObject({
  match: z.string(),
  line: z.int(),
  public: z.boolean(),
  category: z.string().nullable(),
  cost: count.nullable(),
  price: askedPrice.nullable(),
  /** Only if a request is charged in several categories: all but the first category. */
  others: z
    .array(z.strictObject({ category: z.string(), cost: count.nullable(), price: askedPrice.nullable() }))
    .optional(),
  health: z.boolean(),
  shadow: z.boolean(),
  hits: count,
})

export const routes = name(
  z.strictObject({
    file: z.string(),
    routes: z.array(route),
    unmatched: z.strictObject({
      kind: z.enum(['refuse', 'forward', 'charge']),
      hits: count,
      latest: z.array(z.string()),
    }),
  }),
  'Routes',
  'The rules in the order of the file, with the number of requests that each rule got since its replicas started.',
)

export const auditEntry = z.strictObject({
  version: z.int().min(1),
  at: time,
  who: z.string(),
  what: z.enum(KINDS),
  subject: z.string().nullable(),
  from: z.unknown(),
  to: z.unknown(),
  why: z.string().nullable(),
  unfollowed: unfollowed.optional(),
  /** Absent if the change affected somebody. */
  movesNobody: z.literal(true).optional(),
})

export const undone = name(
  z.strictObject({ entry: auditEntry.nullable(), ends }),
  'Undone',
  'The new change that puts back what another one replaced. It is null if nothing had to be changed.',
)

export const audit = name(
  z.strictObject({ entries: z.array(auditEntry), next: z.int().nullable(), forgotten: count }),
  'Audit',
  'Changes at run time. The newest comes first. `next` is the value of `before` for the next page. `forgotten` is the number of old entries that the audit has dropped so far.',
)
