import type { OrganisationOverridesInForceResponse, OrganisationsResponse } from '../../../admin/api.ts'
import { ListPage } from '../users/list.tsx'
import type { Line } from '../users/used-table.tsx'

export function OrganisationsPage() {
  return <ListPage kind="organisations" linesOf={linesOf} overridesOf={overridesOf} />
}

function linesOf({ organisations }: OrganisationsResponse): readonly Line[] {
  return organisations.map(({ organisation, windows, override, blocked, recent }) => ({
    id: organisation,
    windows,
    override,
    blocked,
    recent,
  }))
}

function overridesOf({ organisations }: OrganisationOverridesInForceResponse): readonly Line[] {
  return organisations.map(({ organisation, override }) => ({
    id: organisation,
    windows: null,
    override,
    blocked: false,
  }))
}
