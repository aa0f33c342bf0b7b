import type { OrganisationOverridesInForceResponse, OrganisationsResponse } from '../../../admin/api.ts'
import { type Line, ListPage } from '../users/list.tsx'

export function OrganisationsPage() {
  return <ListPage kind="organisations" linesOf={linesOf} overridesOf={overridesOf} />
}

function linesOf({ organisations }: OrganisationsResponse): readonly Line[] {
  return organisations.map(({ organisation, windows, override, blocked }) => ({
    id: organisation,
    windows,
    override,
    blocked,
  }))
}

function overridesOf({
  organisations,
}: OrganisationOverridesInForceResponse): readonly Pick<Line, 'id' | 'override'>[] {
  return organisations.map(({ organisation, override }) => ({ id: organisation, override }))
}
