import type { OrganisationResponse, OrganisationsResponse, QuotaResponse } from '../../../contract/api.ts'
import { multiplied } from '../../../quota/multiplied.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { useOperatorsPoll, useQuota } from '../../api/session.tsx'
import { number, t } from '../../i18n/text.ts'
import { inOneList } from '../../logic/by-category.ts'
import { overridable } from '../../logic/organisation-override.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { WindowsPanel } from '../users/limit-rows.tsx'
import { ListPanel } from '../users/list.tsx'
import type { Ways } from '../users/own.ts'
import { OwnPage } from '../users/own-page.tsx'
import { OwnParts } from '../users/own-parts.tsx'
import { type FullWindow, Status } from '../users/status.tsx'
import { PeriodDayInForce } from '../users/user.tsx'

export function OrganisationPage({ id }: { readonly id: string }) {
  return (
    <OwnPage<OrganisationResponse> kind="organisations" id={id}>
      {(response, ways) => <Organisation response={response} ways={ways} />}
    </OwnPage>
  )
}

function Organisation({ response, ways }: { readonly response: OrganisationResponse; readonly ways: Ways }) {
  const quota = useQuota()
  const { organisation, override, windows, periodDay, unseen } = response
  return (
    <>
      <Status
        full={fullOf(response, quota)}
        granted={grantedIn(response)}
        shadow={quota?.shadow === true}
        room="organisations.status.room"
        block={isBlock(override, windows) ? override : null}
      />
      <OwnParts
        response={{ ...overridable(response, quota), periodDay }}
        unseen={unseen === true}
        {...ways}
        windows={<Windows response={response} />}
      />
      <ListPanel kind="users" organisation={organisation} />
    </>
  )
}

/** What limits a window: the override, or each plan that limits it, for users with that plan. */
interface Limiting {
  /** `null` for the override. */
  readonly plan: string | null
  readonly limit: number
  /** Tokens that pass beyond the limit. Only the limit in force has them. */
  readonly over?: number
}

function limitingOf(
  { override }: OrganisationResponse,
  {
    category,
    window,
    limit,
    limits,
    over,
    source,
  }: OrganisationResponse['windows'][string][number] & { category: string },
): readonly Limiting[] {
  const { factor = 1 } = override ?? {}
  const set = override?.limits[category]?.[window]
  if (set === 'unlimited' && factor !== 0) return []
  if ((set !== undefined || factor === 0) && limit !== null) return [{ plan: null, limit }]
  return Object.entries(limits).map(([plan, each]) => ({
    ...{ plan, limit: factor === 1 ? each : multiplied(each, factor) },
    ...(over !== undefined && isMadeBy(source, plan) && { over }),
  }))
}

function isMadeBy(source: string, plan: string): boolean {
  return [source, source.split(' x ')[0]].includes(`plan ${plan}`)
}

/** One row for each plan that limits a window, because users of one organisation may have different plans. */
function rowsOf(response: OrganisationResponse, quota: QuotaResponse | null) {
  return inOneList(response.windows).flatMap((each) =>
    limitingOf(response, each).map(({ plan, ...limit }) => {
      const { category, window, used, resetAt } = each
      const isInForce = plan === null || isMadeBy(each.source, plan)
      const made = isInForce ? { source: each.source, steps: each.steps } : { source: `plan ${plan}`, steps: [] }
      const isFull = lacksRoom({ used, ...limit }, quota?.cheapest[category])
      const row = { category, scope: 'Organisation', window, ...limit, ...made } as const
      return { ...row, usage: { used, resetAt }, lacksRoom: isFull, ...(plan !== null && { plan }) }
    }),
  )
}

function fullOf(response: OrganisationResponse, quota: QuotaResponse | null): FullWindow[] {
  const full = rowsOf(response, quota).filter((row) => row.lacksRoom)
  return full.map(({ usage, ...row }) => ({ ...row, ...usage }))
}

/** How many extra tokens the organisation's grants have left; undefined if none are left, or if the organisation is blocked. */
function grantedIn({ blocked, grants = [] }: OrganisationResponse): number | undefined {
  const left = grants.reduce((sum, grant) => sum + grant.left, 0)
  return blocked || left === 0 ? undefined : left
}

const LISTED_EVERY_MS = 60_000

/** The plans of the organisation's known users; `null` if unknown, or if there are none. */
function useListed(organisation: string): { readonly plans: readonly string[] | null } {
  const wish = new URLSearchParams({ query: organisation, limit: '1' })
  const [first] =
    useOperatorsPoll<OrganisationsResponse>(`/api/organisations?${wish}`, LISTED_EVERY_MS).data?.organisations ?? []
  return { plans: first?.organisation === organisation && first.plans.length > 0 ? first.plans : null }
}

/** Rows of plans that no user has are folded. */
function Windows({ response }: { readonly response: OrganisationResponse }) {
  const quota = useQuota()
  const { plans } = useListed(response.organisation)
  const rows = rowsOf(response, quota)
  const isHeld = ({ plan }: { readonly plan?: string }) => plan === undefined || plans === null || plans.includes(plan)
  const others = rows.filter((row) => !isHeld(row))
  return (
    <WindowsPanel
      text={t('organisations.windowsText')}
      none={t('organisations.noLimits')}
      shown={rows.filter(isHeld)}
      others={others}
      summary={t('organisations.otherPlans', { count: number(others.length) })}
      isOpen={others.length === rows.length}
      shadow={quota?.shadow === true}
    >
      {response.periodDay !== undefined && <PeriodDayInForce {...response.periodDay} />}
    </WindowsPanel>
  )
}
