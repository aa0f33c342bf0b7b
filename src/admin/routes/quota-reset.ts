import type { QuotaReset } from '../../control/control-store.ts'
import { categoriesOf } from '../../control/settings.ts'
import { isObject } from '../../lib/json.ts'
import { didYouMean } from '../../lib/suggest.ts'
import type { QuotaResetResponse } from '../api.ts'
import type { Desk } from '../desk.ts'
import { type Fields, readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, ok, type Route } from '../http.ts'
import * as schemas from '../schemas.ts'

/** The route that empties windows which all users share. */
export function quotaResetRoute(desk: Desk): Route {
  return {
    method: 'POST',
    path: '/api/quota/reset',
    guard: 'change',
    doc: {
      summary: 'Empties the global windows of a category, or one of them',
      body: schemas.quotaResetBody,
      responses: { 200: schemas.quotaReset },
    },
    handle: (call) => reset(desk, call),
  }
}

async function reset(desk: Desk, call: Call): Promise<AdminResponse> {
  const read = readReset(desk, call.body)
  if ('problems' in read) return badFields(read.problems)
  return desk.record(call, read.data, ({ from }) => ok({ from: from as QuotaResetResponse['from'] }))
}

/** Categories and windows are those of the file, as everywhere at run time. */
function readReset({ setup }: Desk, body: unknown): Fields<QuotaReset> {
  const elsewhere = problemsOfOthers(body)
  if (elsewhere.length > 0) return { problems: elsewhere }
  const fields = readFields(schemas.quotaResetBody, body)
  if ('problems' in fields) return fields
  const { category, window } = fields.data
  const { quota } = setup()
  const { windows } = quota
  const named = windows.filter(({ name }) => window === undefined || name === window)
  const problems = [
    ...unknownName('category', category, categoriesOf(quota)),
    ...(window === undefined
      ? []
      : unknownName(
          'window',
          window,
          windows.map(({ name }) => name),
        )),
  ]
  if (problems.length > 0) return { problems }
  return { data: { kind: 'quota_reset', category, windows: named, all: window === undefined } }
}

const OTHERS = {
  organisation: 'there are no organisations yet: the one scope that users share is "global"',
  user: 'the windows of one user are emptied by POST /api/users/{id}/reset',
}

/** Scopes of a body whose windows are emptied elsewhere, or not yet. */
function problemsOfOthers(body: unknown): FieldProblem[] {
  if (!isObject(body)) return []
  return Object.entries(OTHERS).flatMap(([path, msg]) => (Object.hasOwn(body, path) ? [{ path, msg }] : []))
}

function unknownName(path: 'category' | 'window', name: string, known: readonly string[]): FieldProblem[] {
  if (known.includes(name)) return []
  const cure = didYouMean(name, known) || `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  return [{ path, msg: `unknown ${path} ${JSON.stringify(name)}${cure}` }]
}
