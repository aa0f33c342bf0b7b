import { createHash, randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import * as schemas from '../contract/admin.ts'
import type { GrantGiven } from '../control/control-store.ts'
import type { GivenGrant } from '../control/state.ts'
import { timeOf } from '../control/times.ts'
import { isUserId, USER_ID } from '../control/user-id.ts'
import { MAX_LIMIT } from '../quota/policy.ts'
import { type Fields, readFields, textFor } from './fields.ts'
import { iso } from './http.ts'

/** Reads a request for a grant, from the API or the command line. */

/** The most grants of one user or organisation at once, because each charge of the owner looks at all of them. */
export const MOST_LIVE = 10
const MOST_DAYS = 400
const DAY_MS = 86_400_000

const TOKENS = `must be a whole number from 1 to ${MAX_LIMIT}`
const UNTIL = `must be a time with its offset, for example 2030-01-31T00:00:00Z, at most ${MOST_DAYS} days from now`

export const ownerId = textFor(isUserId, `must be ${USER_ID}`)

export const NewGrant = z.strictObject({
  user: ownerId.optional().describe('The user who gets the tokens. Write either a user or an organisation'),
  organisation: ownerId
    .optional()
    .describe(
      'The organisation that gets the tokens for all its users together. Write either a user or an organisation',
    ),
  category: z.string().describe('The category of the requests for which the tokens pay'),
  tokens: z
    .int({ error: TOKENS })
    .min(1, { error: TOKENS })
    .max(MAX_LIMIT, { error: TOKENS })
    .describe('The number of tokens, 1 to 10^12'),
  until: z.iso
    .datetime({ offset: true, error: UNTIL })
    .describe(`When the grant ends, whatever is left of it: at most ${MOST_DAYS} days from now`),
  reason: schemas.reason,
})

/** The id of a new grant. The same key of the same author always gives the same id, so the store accepts the grant once. @param who in the audit */
export function idOfGrant(key: string | null, who: string): string {
  if (key === null) return randomBytes(6).toString('hex')
  return createHash('sha256')
    .update(JSON.stringify([who, key]))
    .digest('hex')
    .slice(0, 16)
}

/**
 * The change that gives the grant.
 * @param categories of the configuration
 * @param known the grant that already has this id, with whose times the request is read
 * @param at the store's time, in milliseconds since the epoch
 * @returns also whether the request asks for exactly this grant; `null` if there is none with the id
 */
export function readNewGrant(
  asked: unknown,
  id: string,
  categories: readonly string[],
  known: GivenGrant | undefined,
  at: number,
): Fields<{ readonly change: GrantGiven; readonly isKnown: boolean | null }> {
  const read = readChange(asked, id, categories, known?.givenAt ?? at)
  if ('problems' in read) return read
  const { data: change } = read
  return { data: { change, isKnown: known === undefined ? null : isSame(change.to, known) } }
}

/** Whether two grants are the same, apart from an end since then. */
function isSame(a: GivenGrant, b: GivenGrant): boolean {
  return isDeepStrictEqual(a, { ...b, endedAt: a.endedAt })
}

function readChange(asked: unknown, id: string, categories: readonly string[], at: number): Fields<GrantGiven> {
  const fields = readFields(NewGrant, asked)
  if ('problems' in fields) return fields
  const { user, organisation, category, tokens, reason } = fields.data
  const wrong = (path: string, msg: string) => ({ problems: [{ path, msg }] })
  if (!categories.includes(category)) return wrong('category', `must be one of ${categories.join(', ')}`)
  const until = timeOf(fields.data.until)
  if (!(until <= at + MOST_DAYS * DAY_MS)) return wrong('until', UNTIL)
  if (until <= at) return wrong('until', `must be in the future: it is ${iso(at)} now`)
  const of = { category, tokens, givenAt: at, until, reason, endedAt: null }
  const given = (owner: { user: string } | { organisation: string }): Fields<GrantGiven> => {
    return { data: { kind: 'grant', id, to: { ...owner, ...of }, most: MOST_LIVE } }
  }
  if (user !== undefined && organisation === undefined) return given({ user })
  if (organisation !== undefined && user === undefined) return given({ organisation })
  return wrong('user', 'must be given, or organisation instead: a grant has one owner')
}
