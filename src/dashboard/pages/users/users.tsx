import type { OverridesInForceResponse, UsersResponse } from '../../../admin/api.ts'
import { type Line, ListPage } from './list.tsx'

export function UsersPage() {
  return <ListPage kind="users" linesOf={linesOf} overridesOf={overridesOf} />
}

function linesOf({ users }: UsersResponse): readonly Line[] {
  return users.map(({ user, windows, override, blocked }) => ({ id: user, windows, override, blocked }))
}

function overridesOf({ users }: OverridesInForceResponse): readonly Pick<Line, 'id' | 'override'>[] {
  return users.map(({ user, override }) => ({ id: user, override }))
}
