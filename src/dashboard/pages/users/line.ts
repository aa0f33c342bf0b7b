import type {
  OrganisationOverrideResponse,
  OrganisationOverridesInForceResponse,
  OrganisationsResponse,
  OverrideResponse,
  OverridesInForceResponse,
  QuotaResponse,
  UsersResponse,
} from '../../../contract/api.ts'
import { overridable } from '../../logic/organisation-override.ts'
import type { Overridable } from '../../logic/override.ts'

export type ListResponse = UsersResponse | OrganisationsResponse
export type InForceListResponse = OverridesInForceResponse | OrganisationOverridesInForceResponse

type User = UsersResponse['users'][number]

/** Facts about an owner that are known only while the store responds. */
interface Use extends Pick<User, 'worst' | 'forecast' | 'tokens' | 'recent' | 'refused'> {
  readonly of: Overridable
}

/** A user or an organisation. */
export interface Line {
  readonly id: string
  readonly override: OverrideResponse | OrganisationOverrideResponse | null
  readonly blocked: boolean
  readonly standing?: User['standing']
  readonly organisation?: string | undefined
  readonly plans: readonly string[]
  /** For an organisation, how many of its users are known. */
  readonly users?: number
  /** `null` while the store is out. */
  readonly use: Use | null
}

export function linesOf(page: ListResponse, quota: QuotaResponse | null): readonly Line[] {
  return 'users' in page
    ? page.users.map(lineOfUser)
    : page.organisations.map((each) => lineOfOrganisation(each, quota))
}

function lineOfUser(each: User): Line {
  const { user: id, plan, windows, ...line } = each
  const plans = plan?.name == null ? [] : [plan.name]
  return { id, ...line, plans, use: { ...line, of: { kind: 'user', id, windows, override: line.override, plan } } }
}

function lineOfOrganisation(each: OrganisationsResponse['organisations'][number], quota: QuotaResponse | null): Line {
  const { organisation: id, plan: _, windows: __, ...line } = each
  return { id, ...line, use: { ...line, of: overridable(each, quota) } }
}

export function overridesOf(response: InForceListResponse): readonly Line[] {
  const found =
    'users' in response
      ? response.users.map(({ user, override }) => ({ id: user, override }))
      : response.organisations.map(({ organisation, override }) => ({ id: organisation, override }))
  return found.map((each) => ({ ...each, blocked: false, plans: [], use: null }))
}
