import { Readable } from 'node:stream'
import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { GrantResponse, UsageResponse } from '../../contract/api.ts'
import { storedOf } from '../../control/state.ts'
import { takingTurns } from '../../lib/serialize.ts'
import { readPagedQuery } from '../../usage/usage-cursor.ts'
import { isOfRuns, knownSince, USAGE_KINDS, USAGE_STEPS, type UsageQuery } from '../../usage/usage-query.ts'
import { type PageWish, readUsage, readUsagePage, type UsageSource } from '../../usage/usage-reading.ts'
import { fileNameOf, piecesOf, shownPage, writerOf } from '../../usage/usage-text.ts'
import { attachment } from '../attachment.ts'
import type { Desk } from '../desk.ts'
import { filledText, limit, once } from '../fields.ts'
import { grantsOfOwner } from '../grants-shown.ts'
import { type AdminResponse, badFields, iso, ok, type Route } from '../http.ts'
import { ownerTerms } from '../owner-terms.ts'
import { type CallOf, route } from '../route.ts'

const text = filledText(1024)

const Asked = z.strictObject({
  from: once
    .optional()
    .describe(
      'ISO 8601, a day of `usage.zone`, or a span before `to`, such as `90m` or `6h`. `7d` begins at the start of the day 7 days before. Default `1d`, or since usage is known',
    ),
  to: once.optional().describe('The end of the time, which is itself excluded. Default now'),
  by: once.optional().describe(`One of ${USAGE_KINDS.join(', ')}. Default user`),
  user: text.optional().describe('Only this one'),
  organisation: text
    .optional()
    .describe(
      'Only this organisation. With by=user, the users whose credential named it last, with everything that they used',
    ),
  category: text.optional().describe('Only this one'),
  route: text.optional().describe('Only this rule, as the configuration writes it, with by=route'),
  window: text
    .optional()
    .describe(
      'The window whose runs are counted. For a range of whole days the default is `days`, and otherwise the shortest window that is stored for the whole range',
    ),
  step: once
    .optional()
    .describe(
      `One of ${USAGE_STEPS.join(', ')}. Default range, which returns one row for the whole time. Half hours and hours begin in UTC, and days in the zone \`usage.zone\`. Steps in which nothing was used are left out`,
    ),
  order: once.optional().describe('With tokens, the rows with the most tokens come first'),
  format: z
    .enum(['json', 'csv', 'ndjson'], { error: 'must be json, csv or ndjson' })
    .default('json')
    .describe('With csv and ndjson you get all rows in one response'),
  limit: limit(1000, 100),
  cursor: once.optional().describe('The `next` of the page before'),
})

/** The route of usage. However many requests there are, their steps through the store take turns. */
export function usageRoutes(desk: Desk): Route[] {
  const store = takingTurns(desk.store, ['readHistory', 'scanHistory', 'readSeries', 'readMemberships'])
  return [
    route('GET', '/api/usage', {
      summary: 'What users, organisations, plans, categories and routes have used',
      query: Asked,
      responses: { 200: schemas.usage },
      textTypes: ['text/csv', 'application/x-ndjson'],
      handle: (call) => responseTo(desk, store, call),
    }),
  ]
}

async function responseTo(
  desk: Desk,
  store: UsageSource,
  { query: asked, signal }: CallOf<z.infer<typeof Asked>>,
): Promise<AdminResponse> {
  const { format, limit, cursor, ...question } = asked
  if (format !== 'json' && cursor !== undefined) {
    return badFields([{ path: 'cursor', msg: `is for pages of JSON: ${format} has all rows` }])
  }
  const [counted, silences] = await Promise.all([desk.store.readCounted(), desk.store.readSilences()])
  const context = { ...desk.setup().usage, ...counted, silences }
  const read = readPagedQuery(question, cursor, context)
  if ('problems' in read) return badFields(read.problems)
  const { query, from } = read
  const ofRuns = isOfRuns(query.by) ? { ...store, termsOf: await ownerTerms(desk) } : store
  if (format !== 'json') return asText(ofRuns, format, { query, limit, signal })
  const page = await readUsagePage(ofRuns, { query, from, limit, signal })
  const grants = cursor === undefined ? await grantsIn(desk, store, query) : []
  const since = knownSince(context) ?? 0
  const response: UsageResponse = {
    ...shownPage(query, page),
    ...(query.gaps.length > 0 && since > query.from && { knownSince: iso(since) }),
    ...(grants.length > 0 && { grants }),
  }
  return ok(response)
}

/**
 * The grants of the one user or organisation in the query. There are none if the query also names an organisation that is not the user's.
 * @throws StoreError
 */
async function grantsIn(
  { control }: Desk,
  store: UsageSource,
  { by, name, organisation }: UsageQuery,
): Promise<GrantResponse[]> {
  if (!isOfRuns(by) || name === null || storedOf(control.state()).grants.size === 0) return []
  if (organisation !== null) {
    const [membership] = await store.readMemberships([name])
    if (membership?.organisation !== organisation) return []
  }
  const scope = by === 'user' ? 'personal' : 'organisation'
  return grantsOfOwner(control.state(), scope, name, await store.readHistory(scope, name))
}

/** All rows, as fast as the client reads. If the store fails, the text breaks off before its end. */
function asText(
  store: UsageSource,
  format: 'csv' | 'ndjson',
  { query, limit, signal }: Omit<PageWish, 'from'>,
): AdminResponse {
  const writer = writerOf(format, query)
  const pieces = Readable.from(piecesOf(writer, readUsage(store, { query, limit, signal })), { objectMode: false })
  return {
    status: 200,
    body: pieces,
    contentType: writer.contentType,
    headers: attachment(fileNameOf(query), format),
  }
}
