import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { AuditResponse } from '../../contract/api.ts'
import { KINDS } from '../../control/control-store.ts'
import { takingTurns } from '../../lib/serialize.ts'
import { entryResponse } from '../audit-entry.ts'
import { type AuditFilter, type AuditPage, auditPage } from '../audit-filter.ts'
import { csvResponse } from '../csv-response.ts'
import type { Desk } from '../desk.ts'
import { filledText, limit, moment, momentAt, whole } from '../fields.ts'
import { type AdminResponse, iso, ok, type Route } from '../http.ts'
import { type CallOf, route } from '../route.ts'
import { undoRoute } from './undo.ts'

const BEFORE = 'must be a whole number: the `next` of the page before'

const Page = z.strictObject({
  before: whole(1, Number.MAX_SAFE_INTEGER, BEFORE)
    .optional()
    .describe('Only changes with a lower number. Send the `next` of the page before'),
  limit: limit(200, 50),
  who: filledText(512).optional().describe('A part of the name of the person or token that made the change'),
  what: z
    .enum(KINDS, { error: `must be one of ${KINDS.join(', ')}` })
    .optional()
    .describe('The kind of the change'),
  about: filledText(512)
    .optional()
    .describe(
      'A part of the name of the user, the organisation or the access key that was changed, or of the category that was emptied',
    ),
  from: moment
    .optional()
    .describe(
      'Only changes that were made at this time or later. It is a time, a day of `usage.zone`, or a span before now',
    ),
  to: moment.optional().describe('Only changes that were made before this time'),
  format: z
    .enum(['json', 'csv'], { error: 'must be json or csv' })
    .default('json')
    .describe('With csv you get all matching entries in one response'),
})

const COLUMNS = ['version', 'at', 'who', 'what', 'subject', 'from', 'to', 'why', 'unfollowed', 'movesNobody'] as const

/** All matching entries, newest first, as fast as the client reads. Values are JSON. */
function asCsv(store: Desk['store'], filter: AuditFilter, at: number, signal: AbortSignal): AdminResponse {
  async function* lines(): AsyncGenerator<readonly (string | number)[]> {
    for (let before: number | null = null; ; ) {
      const page: AuditPage = await auditPage(store, filter, { before, limit: 200, signal })
      for (const entry of page.entries.map(entryResponse)) {
        const { version, at, who, what, subject, from, to, why, unfollowed, movesNobody = '' } = entry
        const values = [JSON.stringify(from), JSON.stringify(to), why ?? '']
        const vain = [unfollowed === undefined ? '' : JSON.stringify(unfollowed), String(movesNobody)]
        yield [version, at, who, what, subject ?? '', ...values, ...vain]
      }
      if (page.next === null) return
      before = page.next
    }
  }
  return csvResponse(`audit-${iso(at).slice(0, 10)}`, COLUMNS, lines())
}

/** The route of the audit. However many requests there are, their steps take turns, because a page may look through 2,000 entries. */
export function auditRoutes(desk: Desk): Route[] {
  const store = takingTurns(desk.store, ['readAudit'])
  return [
    route('GET', '/api/audit', {
      summary: 'Every change at run time. The newest comes first',
      more: 'To get the next page, send the `next` of a page as `before`.',
      query: Page,
      responses: { 200: schemas.audit },
      textTypes: ['text/csv'],
      handle: (call) => show(store, desk, call),
    }),
    undoRoute(desk),
  ]
}

async function show(
  store: Desk['store'],
  { setup }: Desk,
  { query, signal }: CallOf<z.infer<typeof Page>>,
): Promise<AdminResponse> {
  const { before = null, limit, format, from, to, ...named } = query
  const needsTime = from !== undefined || to !== undefined || format === 'csv'
  const at = needsTime ? (await store.controlVersion()).at : 0
  const { zone } = setup().usage
  const filter = { ...named, from: momentAt(from, at, zone), to: momentAt(to, at, zone) }
  if (format === 'csv') return asCsv(store, filter, at, signal)
  const [{ entries, next }, forgotten] = await Promise.all([
    auditPage(store, filter, { before, limit, signal }),
    store.forgottenChanges(),
  ])
  return ok({ entries: entries.map(entryResponse), next, forgotten } satisfies AuditResponse)
}
