import type { OverridesInForceResponse, UsersResponse } from '../../../contract/api.ts'
import { ListPage } from './list.tsx'
import type { Line } from './used-table.tsx'

export function UsersPage() {
  return <ListPage kind="users" linesOf={linesOf} overridesOf={overridesOf} />
}

/** Of a page of the API. */
export function linesOf({ users }: UsersResponse): readonly Line[] {
  return users.map(({ user, plan, organisation, windows, override, blocked, standing, recent }) => ({
    id: user,
    plan: plan?.name ?? undefined,
    organisation,
    windows,
    override,
    blocked,
    standing,
    recent,
  }))
}

function overridesOf({ users }: OverridesInForceResponse): readonly Line[] {
  return users.map(({ user, override }) => ({ id: user, windows: null, override, blocked: false }))
}
