import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { AuditResponse } from '../../contract/api.ts'
import { KINDS } from '../../control/control-store.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { entryResponse } from '../audit-entry.ts'
import { auditPage } from '../audit-filter.ts'
import type { Desk } from '../desk.ts'
import { limit, readFields, whole } from '../fields.ts'
import { type AdminResponse, badFields, type Call, ok, type Route } from '../http.ts'
import { undoRoute } from './undo.ts'

const BEFORE = 'must be a whole number: the `next` of the page before'

const part = z
  .string({ error: 'must be given once' })
  .min(1, { error: 'must not be empty' })
  .max(512, { error: 'must have at most 512 characters' })
  .optional()

const Page = z.strictObject({
  before: whole(1, Number.MAX_SAFE_INTEGER, BEFORE)
    .optional()
    .meta({ description: 'Only changes with a lower number' }),
  limit: limit(200, 50),
  who: part.meta({ description: 'A part of the name of whoever made the change' }),
  what: z
    .enum(KINDS, { error: `must be one of ${KINDS.join(', ')}` })
    .optional()
    .meta({ description: 'The kind of the change' }),
  about: part.meta({
    description: 'A part of the name of a user, an organisation, an access key or a category that is emptied',
  }),
})

/** The route of the audit. */
export function auditRoutes(desk: Desk): Route[] {
  /** Each with a filter may look through 2,000 entries. */
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/audit',
      guard: 'read',
      doc: { summary: 'Every change at run time, newest first', query: Page, responses: { 200: schemas.audit } },
      handle: (call) => inTurn(() => show(desk, call)),
    },
    undoRoute(desk),
  ]
}

async function show({ store }: Desk, { query, signal }: Call): Promise<AdminResponse> {
  const fields = readFields(Page, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { before = null, limit, ...filter } = fields.data
  const [{ entries, next }, forgotten] = await Promise.all([
    auditPage(store, filter, { before, limit, signal }),
    store.forgottenChanges(),
  ])
  return ok({ entries: entries.map(entryResponse), next, forgotten } satisfies AuditResponse)
}
