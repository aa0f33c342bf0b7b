import { z } from 'zod'
import { type Answer, badFields, type Call, iso, ok, type Route } from './answer.ts'
import type { AuditAnswer } from './api.ts'
import type { Desk } from './desk.ts'
import { limit, readFields, whole } from './fields.ts'
import * as schemas from './schemas.ts'

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
      doc: { summary: 'Every change at run time, newest first', query: Page, answers: { 200: schemas.audit } },
      handle: (call) => show(desk, call),
    },
  ]
}

async function show({ store }: Desk, { query }: Call): Promise<Answer> {
  const fields = readFields(Page, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { before = null, limit } = fields.data
  const entries = await store.readAudit(before, limit)
  const last = entries.at(-1)
  const isFull = entries.length === limit && last !== undefined && last.version > 1
  const answer: AuditAnswer = {
    entries: entries.map((entry) => ({ ...entry, at: iso(entry.at), from: shown(entry.from), to: shown(entry.to) })),
    next: isFull ? last.version : null,
  }
  return ok(answer)
}

/** The end of an override is kept in milliseconds, and told like every other time. */
function shown(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('expiresAt' in value)) return value
  const { expiresAt } = value
  return typeof expiresAt === 'number' ? { ...value, expiresAt: iso(expiresAt) } : value
}
