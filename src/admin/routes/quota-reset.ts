import * as schemas from '../../contract/admin.ts'
import type { QuotaResetResponse } from '../../contract/api.ts'
import type { QuotaReset } from '../../control/control-store.ts'
import { categoriesOf } from '../../control/settings.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { isObject } from '../../lib/json.ts'
import { didYouMean } from '../../lib/suggest.ts'
import type { Desk } from '../desk.ts'
import { type Fields, readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, type FieldProblem, ok, type Route } from '../http.ts'
import { route } from '../route.ts'

/** The route that empties windows that users share: those of all users, or of one organisation. */
export function quotaResetRoute(desk: Desk): Route {
  return route('POST', '/api/quota/reset', {
    summary:
      'Empties the windows of a category that all users share, or that an organisation shares, or one of these windows',
    body: schemas.quotaResetBody,
    responses: { 200: schemas.quotaReset },
    handle: (call) => reset(desk, call),
  })
}

async function reset(desk: Desk, call: Call): Promise<AdminResponse> {
  const read = readReset(desk, call.body)
  if ('problems' in read) return badFields(read.problems)
  const change = read.data.organisation === undefined ? read.data : await asLongAsAny(desk, read.data)
  return desk.record(call, change, ({ from }) => ok({ from: from as QuotaResetResponse['from'] }))
}

/** Replaces the windows by those with the longest months. By a window of the file, a month that began on an organisation's day may seem over. */
async function asLongAsAny(desk: Desk, { windows, ...rest }: QuotaReset): Promise<QuotaReset> {
  const { policy } = await desk.view()
  const names = new Set(windows.map(({ name }) => name))
  return { ...rest, windows: policy.windowsOfAnybody.filter(({ name }) => names.has(name)) }
}

/** Categories and windows are those of the file, as everywhere at run time. */
function readReset({ setup }: Desk, body: unknown): Fields<QuotaReset> {
  const elsewhere = problemsOfOthers(body)
  if (elsewhere.length > 0) return { problems: elsewhere }
  const fields = readFields(schemas.quotaResetBody, body)
  if ('problems' in fields) return fields
  const { scope, organisation, category, window } = fields.data
  const { quota } = setup()
  const { windows } = quota
  const named = windows.filter(({ name }) => window === undefined || name === window)
  const problems = [
    ...problemsOfScope(scope, organisation),
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
  const whose = organisation === undefined ? {} : { organisation }
  return { data: { kind: 'quota_reset', ...whose, category, windows: named, all: window === undefined } }
}

/** Names the right route if the body names a user. */
function problemsOfOthers(body: unknown): FieldProblem[] {
  if (!isObject(body) || !Object.hasOwn(body, 'user')) return []
  return [{ path: 'user', msg: 'the windows of one user are emptied by POST /api/users/{id}/reset' }]
}

function problemsOfScope(scope: 'global' | 'organisation', organisation: string | undefined): FieldProblem[] {
  const path = 'organisation'
  if (scope === 'organisation' && organisation === undefined) return [{ path, msg: 'names none: give the id of one' }]
  if (organisation !== undefined && !isUserId(organisation)) {
    return [{ path, msg: `must be an organisation: ${USER_ID}` }]
  }
  if (scope === 'global' && organisation !== undefined) {
    return [{ path, msg: 'is given with the scope "global": set the scope to "organisation", or leave it out' }]
  }
  return []
}

function unknownName(path: 'category' | 'window', name: string, known: readonly string[]): FieldProblem[] {
  if (known.includes(name)) return []
  const cure = didYouMean(name, known) || `; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`
  return [{ path, msg: `unknown ${path} ${JSON.stringify(name)}${cure}` }]
}
