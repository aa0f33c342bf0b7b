import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { DistributionResponse } from '../../contract/api.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import type { Desk } from '../desk.ts'
import { distribution } from '../distribution.ts'
import { once, only } from '../fields.ts'
import { type AdminResponse, badFields, type FieldProblem, iso, ok, type Route } from '../http.ts'
import { type CallOf, route } from '../route.ts'

const Query = z.strictObject({
  category: once,
  window: once.describe('The name of the window, such as 1h'),
  scope: z
    .enum(['personal', 'organisation'], { error: 'must be personal or organisation' })
    .default('personal')
    .describe('The scope of the windows'),
  plan: once.optional().describe('Only users with this plan'),
  settings: only(
    'Only users whose personal limit comes from the settings, and neither from a plan nor from an override',
  ),
})

/** The route that shows how users are distributed below a limit. */
export function distributionRoute(desk: Desk): Route {
  /** One at a time, because each request looks through all users or organisations. */
  const inTurn = oneAtATime()
  return route('GET', '/api/quota/distribution', {
    summary: 'How many users lie at each share of a limit, and what they have used',
    query: Query,
    responses: { 200: schemas.distribution },
    handle: (call) => inTurn(() => show(desk, call)),
  })
}

async function show(desk: Desk, { query, signal }: CallOf<z.infer<typeof Query>>): Promise<AdminResponse> {
  const { category, scope, plan = null } = query
  const { policy, setup } = await desk.view()
  const window = setup.quota.windows.find(({ name }) => name === query.window)
  const problems: FieldProblem[] = [
    ...unknown('category', category, policy.categories),
    ...unknown(
      'window',
      query.window,
      setup.quota.windows.map(({ name }) => name),
    ),
    ...(plan === null ? [] : unknown('plan', plan, policy.plans)),
    ...(query.settings && scope !== 'personal' ? [{ path: 'settings', msg: 'is for personal limits' }] : []),
  ]
  if (problems.length > 0 || window === undefined) return badFields(problems)
  const { at, ...found } = await distribution({
    desk,
    scope,
    category,
    window,
    plan,
    ofSettings: query.settings,
    policy,
    exempt: setup.exempt,
    signal,
  })
  const response: DistributionResponse = {
    ...{ category, window: window.name, scope, plan },
    at: iso(at),
    ...found,
  }
  return ok(response)
}

function unknown(path: string, value: string, known: readonly string[]): FieldProblem[] {
  if (known.includes(value)) return []
  return [{ path, msg: known.length === 0 ? 'none is configured' : `must be one of ${known.join(', ')}` }]
}
