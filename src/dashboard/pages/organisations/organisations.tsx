import type { OrganisationOverridesInForceResponse, OrganisationsResponse } from '../../../contract/api.ts'
import { highestLimit } from '../../logic/highest-limit.ts'
import { ListPage } from '../users/list.tsx'
import type { Line } from '../users/used-table.tsx'

export function OrganisationsPage() {
  return <ListPage kind="organisations" linesOf={linesOf} overridesOf={overridesOf} />
}

function linesOf({ organisations }: OrganisationsResponse): readonly Line[] {
  return organisations.map(({ organisation, windows, override, blocked, recent }) => ({
    id: organisation,
    windows: Object.fromEntries(Object.entries(windows).map(([category, list]) => [category, list.map(limited)])),
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

/** Where the plan that was named last limits nothing, the highest limit of another plan is what some of its users have. */
function limited(each: OrganisationsResponse['organisations'][number]['windows'][string][number]) {
  const { window, used, limit, limits } = each
  return { window, used, limit: limit ?? highestLimit(limits) }
}
