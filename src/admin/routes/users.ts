import * as schemas from '../../contract/admin.ts'
import type { LayersResponse, LimitResponse, UserResponse } from '../../contract/api.ts'
import { SCOPE_NAMES } from '../../quota/charged-scopes.ts'
import { countersIn } from '../../quota/standing.ts'
import { grantsShown, windowStatus } from '../../quota/status.ts'
import { type Desk, etag } from '../desk.ts'
import { type AdminResponse, type Call, NO_CONTENT, ok, type Route } from '../http.ts'
import { ledByCaller, overrideOf } from '../override.ts'
import { membershipShown, periodDayShown } from '../plan.ts'
import type { Rosters } from '../rosters.ts'
import { route } from '../route.ts'
import { standingShown } from '../standing.ts'
import { unseenMark } from '../unseen.ts'
import { UsersQuery } from '../used-list.ts'
import { withUser } from '../with-id.ts'
import { overrideRoutes } from './overrides.ts'
import { personRoutes } from './persons.ts'
import { listUsers } from './users-list.ts'

/** The routes of users: what they have used, and what was set for one of them. */
export function userRoutes(desk: Desk, rosters: Rosters): Route[] {
  return [
    route('GET', '/api/users', {
      summary: 'Lists users who have used something or have an override, page by page',
      query: UsersQuery,
      responses: { 200: schemas.users },
      handle: (call) => listUsers(desk, call, rosters),
    }),
    route('GET', '/api/users/:id', {
      summary: 'One user, with the layers of each limit',
      hasVersion: true,
      responses: { 200: schemas.user },
      handle: (call) => withUser(call, (user) => show(desk, user, ledByCaller(call))),
    }),
    ...personRoutes(desk),
    ...overrideRoutes(desk),
    route('POST', '/api/users/:id/reset', {
      summary: 'Empties the windows of a user',
      reads: schemas.requiredReason,
      responses: { 204: null },
      handle: (call) => withUser(call, (user) => reset(desk, call, user)),
    }),
  ]
}

async function show(desk: Desk, user: string, lead: string | null): Promise<AdminResponse> {
  const [now, payer] = await Promise.all([desk.view(user), desk.payerOf(user)])
  const { categories } = now.policy
  const snapshot = await desk.store.readUsage(user, now.policy.countedOf(payer), payer.organisation)
  const windows = categories.map((category, i): [string, LimitResponse[]] => {
    const trace = now.policy.trace(category, payer, now.origin)
    const rows = SCOPE_NAMES.flatMap((scope) =>
      (trace[scope] ?? []).map((limit) => ({
        ...windowStatus(scope, limit, snapshot[scope]?.[i], snapshot.at),
        ...layers(limit),
      })),
    )
    return [category, rows]
  })
  const override = overrideOf(now.state, user, now.at, lead)
  // A user with recent usage is known, so nothing else that is kept need be read.
  const hasUsed = snapshot.personal.some((counter) => counter.length > 0)
  const response: UserResponse = {
    user,
    ...(!hasUsed && (await unseenMark(desk.store, { user }))),
    ...membershipShown(now.policy, payer),
    ...periodDayShown(now.policy, payer, 'personal'),
    windows: Object.fromEntries(windows),
    override,
    ...grantsShown(now.policy, countersIn(now.policy.countedOf(payer), snapshot), payer, snapshot.at),
    standing: standingShown(now, payer, snapshot),
  }
  return ok(response, etag(override?.version ?? 0))
}

/** The layers of a limit, without the other parts of its trace. */
export function layers({ source, steps }: LayersResponse): LayersResponse {
  return { source, steps }
}

async function reset(desk: Desk, call: Call, user: string): Promise<AdminResponse> {
  return desk.record(call, { kind: 'reset', user }, () => NO_CONTENT)
}
