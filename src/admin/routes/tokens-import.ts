import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { ImportedTokensResponse } from '../../contract/api.ts'
import { importsOf } from '../../control/access-key-changes.ts'
import { importedRecord } from '../../control/access-key-record.ts'
import type { AccessKeyRecord } from '../../control/access-key-store.ts'
import { jsonLine, linesOf, MOST_BYTES, MOST_PROBLEMS } from '../../control/override-file.ts'
import { inSlices } from '../../lib/slices.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type FieldProblem, NO_CONTENT, ok, type Route } from '../http.ts'
import { formatOf, NOT_LINES } from '../line-body.ts'
import { type CallOf, route } from '../route.ts'
import { accessKeyEnd, insistOnPlan, NewToken } from './tokens.ts'

const SHA256 = 'must be the SHA-256 of the whole key in 64 hexadecimal digits: printf %s "$KEY" | sha256sum'

const Line = NewToken.omit({ reason: true, handover: true }).extend({
  sha256: z.string({ error: SHA256 }).regex(/^[0-9a-f]{64}$/i, { error: SHA256 }),
})
const Why = z.strictObject({ reason: schemas.reason.optional() })

/** Takes over keys that another system has issued, by their hashes, so that their owners can go on using them. */
export function tokenImportRoute(desk: Desk, now: () => number): Route {
  return route('PUT', '/api/tokens/import', {
    maxBody: MOST_BYTES,
    takesLines: true,
    summary: 'Takes over keys of another system by their SHA-256. If one line is wrong, none of them is taken over',
    more: 'More than 500 keys are taken over in steps of 500. If the store fails in between, send the same file again.',
    query: Why,
    body: 'lines',
    responses: { 200: schemas.importedTokens },
    handle: (call) => take(desk, call, now()),
  })
}

async function take(desk: Desk, call: CallOf<z.infer<typeof Why>>, now: number): Promise<AdminResponse> {
  if (formatOf(String(call.headers['content-type'])) !== 'ndjson') return NOT_LINES
  const known = new Map((await desk.store.listTokens()).map((record) => [record.hash, record.user]))
  const records = new Map<string, AccessKeyRecord>()
  const problems: FieldProblem[] = []
  let already = 0
  const slices = inSlices()
  for (const [line, text] of linesOf(call.body as Buffer)) {
    if (slices.isOver()) await slices.next()
    const placeOf = (path: string) => (path === '' ? `line ${line}` : `line ${line}, ${path}`)
    const read = typeof text === 'string' ? recordOf(text, desk, now) : { problems: [text] }
    if ('problems' in read) problems.push(...read.problems.map(({ path, msg }) => ({ path: placeOf(path), msg })))
    else if (known.get(read.hash) === read.user) already++
    else if (known.has(read.hash) || records.has(read.hash))
      problems.push({ path: placeOf('sha256'), msg: 'is that of another key: leave one of them out' })
    else records.set(read.hash, read)
    if (problems.length >= MOST_PROBLEMS) return badFields(problems)
  }
  if (problems.length > 0) return badFields(problems)
  const asked = { ...call, body: call.query }
  for (const change of importsOf([...records.values()])) {
    await desk.record(asked, change, () => NO_CONTENT)
    // The embedded store makes each change synchronously.
    if (slices.isOver()) await slices.next()
  }
  return ok({ imported: records.size, known: already } satisfies ImportedTokensResponse)
}

function recordOf(
  text: string,
  desk: Desk,
  now: number,
): AccessKeyRecord | { readonly problems: readonly FieldProblem[] } {
  const json = jsonLine(text)
  if ('problems' in json) return json
  const fields = readFields(Line, json.value)
  if ('problems' in fields) return fields
  const { sha256, user, name, plan, organisation, expiresAt } = fields.data
  const noPlan = insistOnPlan(desk, plan)
  if (noPlan.length > 0) return { problems: noPlan }
  const end = accessKeyEnd(expiresAt, now)
  if (typeof end === 'object' && end !== null) return { problems: end }
  const facts = { ...(plan != null && { plan }), ...(organisation != null && { organisation }) }
  return importedRecord({ hash: sha256.toLowerCase(), user, name, ...facts, expiresAt: end }, now)
}
