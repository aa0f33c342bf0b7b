import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { ImportedTokensResponse } from '../../contract/api.ts'
import { importsOf } from '../../control/access-key-changes.ts'
import { importedRecord } from '../../control/access-key-record.ts'
import type { AccessKeyRecord } from '../../control/access-key-store.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, NO_CONTENT, ok, type Route } from '../http.ts'
import { formatOf, NOT_LINES } from '../line-body.ts'
import { accessKeyEnd, insistOnPlan, NewToken } from './tokens.ts'

/** Of a whole file, in bytes: some 50,000 keys. */
const MOST_BYTES = 10 * 1024 * 1024
/** Problems after which no more lines are looked at. */
const MOST_PROBLEMS = 50

const SHA256 = 'must be the SHA-256 of the whole key in 64 hexadecimal digits: printf %s "$KEY" | sha256sum'

const Line = NewToken.omit({ reason: true }).extend({
  sha256: z.string({ error: SHA256 }).regex(/^[0-9a-f]{64}$/i, { error: SHA256 }),
})
const Why = z.strictObject({ reason: schemas.reason.optional() })

/** Keys that somebody else has made and handed out are taken over by their hashes, so that nobody needs another one. */
export function tokenImportRoute(desk: Desk, now: () => number): Route {
  return {
    method: 'PUT',
    path: '/api/tokens/import',
    guard: 'change',
    takesLines: true,
    maxBody: MOST_BYTES,
    doc: {
      summary: 'Takes over keys that somebody else has made, by their SHA-256: all lines of a file, or none',
      query: Why,
      body: 'lines',
      responses: { 200: schemas.importedTokens },
    },
    handle: (call) => take(desk, call, now()),
  }
}

async function take(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const why = readFields(Why, call.query)
  if ('problems' in why) return badFields(why.problems)
  if (formatOf(String(call.headers['content-type'])) !== 'ndjson') return NOT_LINES
  const known = new Map((await desk.store.listTokens()).map((record) => [record.hash, record.user]))
  const records = new Map<string, AccessKeyRecord>()
  const problems: FieldProblem[] = []
  let already = 0
  for (const [i, text] of linesIn(call.body as Buffer).entries()) {
    const read = recordOf(text, desk, now)
    if ('problems' in read) problems.push(...read.problems.map(({ path, msg }) => ({ path: placeOf(i, path), msg })))
    else if (known.get(read.hash) === read.user) already++
    else if (known.has(read.hash) || records.has(read.hash))
      problems.push({ path: placeOf(i, 'sha256'), msg: 'is that of another key: leave one of them out' })
    else records.set(read.hash, read)
    if (problems.length >= MOST_PROBLEMS) return badFields(problems)
  }
  if (problems.length > 0) return badFields(problems)
  const asked = { ...call, body: why.data }
  for (const change of importsOf([...records.values()])) await desk.record(asked, change, () => NO_CONTENT)
  return ok({ imported: records.size, known: already } satisfies ImportedTokensResponse)
}

function linesIn(bytes: Buffer): string[] {
  return bytes
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '')
}

function placeOf(index: number, path: string): string {
  return path === '' ? `line ${index + 1}` : `line ${index + 1}, ${path}`
}

function recordOf(
  text: string,
  desk: Desk,
  now: number,
): AccessKeyRecord | { readonly problems: readonly FieldProblem[] } {
  const fields = readFields(Line, parsed(text))
  if ('problems' in fields) return fields
  const { sha256, user, name, plan, organisation, expiresAt } = fields.data
  const noPlan = insistOnPlan(desk, plan)
  if (noPlan.length > 0) return { problems: noPlan }
  const end = accessKeyEnd(expiresAt, now)
  if (typeof end === 'object' && end !== null) return { problems: end }
  const facts = { ...(plan != null && { plan }), ...(organisation != null && { organisation }) }
  return importedRecord({ hash: sha256.toLowerCase(), user, name, ...facts, expiresAt: end }, now)
}

/** What is no JSON is no object either. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
