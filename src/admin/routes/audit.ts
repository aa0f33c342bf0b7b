import { z } from 'zod'
import type { AuditResponse } from '../api.ts'
import { entryResponse } from '../audit-entry.ts'
import type { Desk } from '../desk.ts'
import { limit, readFields, whole } from '../fields.ts'
import { type AdminResponse, badFields, type Call, ok, type Route } from '../http.ts'
import * as schemas from '../schemas.ts'
import { undoRoute } from './undo.ts'

const BEFORE = 'must be a whole number: the `next` of the page before'

const Page = z.strictObject({
  before: whole(1, Number.MAX_SAFE_INTEGER, BEFORE)
    .optional()
    .meta({ description: 'Only changes with a lower number' }),
  limit: limit(200, 50),
})

/** The route of the audit. */
export function auditRoutes(desk: Desk): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/audit',
      guard: 'read',
      doc: { summary: 'Every change at run time, newest first', query: Page, responses: { 200: schemas.audit } },
      handle: (call) => show(desk, call),
    },
    undoRoute(desk),
  ]
}

async function show({ store }: Desk, { query }: Call): Promise<AdminResponse> {
  const fields = readFields(Page, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { before = null, limit } = fields.data
  const [entries, forgotten] = await Promise.all([store.readAudit(before, limit), store.forgottenChanges()])
  const last = entries.at(-1)
  const isFull = entries.length === limit && last !== undefined && last.version > 1
  const response: AuditResponse = {
    entries: entries.map(entryResponse),
    next: isFull ? last.version : null,
    forgotten,
  }
  return ok(response)
}
