import type { OrganisationResponse, QuotaResponse } from '../../../contract/api.ts'
import { multiplied } from '../../../quota/multiplied.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { highestLimit } from '../../logic/highest-limit.ts'
import type { Overridable, OverridableWindow } from '../../logic/override.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { Note } from '../../ui/note.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel } from '../../ui/panel.tsx'
import { Name } from '../../ui/small.tsx'
import { BackToList } from '../users/back-to-list.tsx'
import { LimitRows } from '../users/limit-rows.tsx'
import { OverrideEditor } from '../users/override.tsx'
import { OwnUsage } from '../users/own-usage.tsx'
import { QuickActions } from '../users/quick-actions.tsx'
import { RecentRefusals } from '../users/recent-refusals.tsx'
import { Reset } from '../users/reset.tsx'
import { type FullWindow, Status } from '../users/status.tsx'
import { isStep } from '../users/user.tsx'
import { Members } from './members.tsx'

const EVERY_MS = 3000
const QUOTA_EVERY_MS = 10_000

export function OrganisationPage({ organisation }: { readonly organisation: string }) {
  const { t } = useTexts()
  return (
    <>
      <p>
        <BackToList kind="organisations" />
      </p>
      <PageTitle>
        <Name of={organisation} />
      </PageTitle>
      {isStep(organisation) ? (
        <Note tone="warn">
          <p>{t('organisations.dots')}</p>
        </Note>
      ) : (
        <Organisation path={`/api/organisations/${encodeURIComponent(organisation)}`} />
      )}
    </>
  )
}

function Organisation({ path }: { readonly path: string }) {
  const poll = usePoll<OrganisationResponse>(path, EVERY_MS)
  const quota = usePoll<QuotaResponse>('/api/quota', QUOTA_EVERY_MS).data
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out)
  return (
    <>
      {out && <OutageBanner inForce={inForce.data} />}
      <Loaded poll={poll} hasBanner>
        {(response) => (
          <>
            <Status
              full={fullOf(response, quota)}
              shadow={quota?.shadow === true}
              room="organisations.status.room"
              block={isBlock(response.override, response.windows) ? response.override : null}
            />
            <QuickActions of={overridable(response, quota)} etag={poll.etag} path={path} read={poll.read} />
            <Windows response={response} quota={quota} />
            <Members of={response.organisation} quota={quota} />
            <OwnUsage kind="organisation" id={response.organisation} />
            <RecentRefusals of={{ organisation: response.organisation }} />
            <OverrideEditor
              quota={quota}
              response={overridable(response, quota)}
              etag={poll.etag}
              path={path}
              reload={poll.reload}
              read={poll.read}
            />
            <Reset
              id={response.organisation}
              path={path}
              text="organisations.reset"
              read={poll.read}
              reload={poll.reload}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

interface WindowsProps {
  readonly response: OrganisationResponse
  /** `null` if it is not known yet. */
  readonly quota: QuotaResponse | null
}

/** What limits a window: the override, else each plan that limits it, for users who have that plan. */
interface Limiting {
  /** `null` for the override. */
  readonly plan: string | null
  readonly limit: number
  /** Tokens that pass beyond it, of the limit in force. */
  readonly over?: number
}

function limitingOf(
  { override }: OrganisationResponse,
  category: string,
  { window, limit, limits, over, source }: OrganisationResponse['windows'][string][number],
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

function fullOf(response: OrganisationResponse, quota: QuotaResponse | null): FullWindow[] {
  return Object.entries(response.windows).flatMap(([category, list]) =>
    list.flatMap((each) =>
      limitingOf(response, category, each)
        .filter((of) => lacksRoom({ ...of, used: each.used }, quota?.cheapest[category]))
        .map(({ plan, limit }) => {
          const { window, used, resetAt } = each
          return {
            scope: 'Organisation' as const,
            category,
            window,
            limit,
            used,
            resetAt,
            ...(plan !== null && { plan }),
          }
        }),
    ),
  )
}

/** One line for each plan that limits a window: users of one organisation may have different plans. */
function Windows({ response, quota }: WindowsProps) {
  const { t } = useTexts()
  const limits = Object.entries(response.windows).flatMap(([category, list]) =>
    list.flatMap((each) =>
      limitingOf(response, category, each).map(({ plan, ...limit }) => {
        const { window, used, resetAt } = each
        const isInForce = plan === null || isMadeBy(each.source, plan)
        const made = isInForce ? { source: each.source, steps: each.steps } : { source: `plan ${plan}`, steps: [] }
        const isFull = lacksRoom({ used, ...limit }, quota?.cheapest[category])
        const row = { category, scope: 'Organisation', window, ...limit, ...made } as const
        return { ...row, usage: { used, resetAt }, lacksRoom: isFull, ...(plan !== null && { plan }) }
      }),
    ),
  )
  return (
    <Panel title={t('users.windows')} text={t('organisations.windowsText')}>
      {limits.length === 0 ? (
        <p className="muted">{t('organisations.noLimits')}</p>
      ) : (
        <LimitRows label={t('users.windows')} limits={limits} shadow={quota?.shadow === true} />
      )}
    </Panel>
  )
}

/** Every window of every category may be limited, also one that no plan limits. */
function overridable(
  { organisation, windows, override }: OrganisationResponse,
  quota: QuotaResponse | null,
): Overridable {
  const names = quota?.windowLengths.map(({ name }) => name) ?? []
  const categories = quota?.categories ?? Object.keys(windows)
  const plans = Object.keys(quota?.plans ?? {})
  const rows = categories.map((category): [string, OverridableWindow[]] => {
    const known = windows[category] ?? []
    const all = names.length > 0 ? names : known.map(({ window }) => window)
    return [
      category,
      all.map((window) =>
        rowOf(
          window,
          known.find((each) => each.window === window),
          plans,
          override?.limits[category]?.[window] !== undefined,
        ),
      ),
    ]
  })
  const set = override && { ...override, bypassGlobal: false, shadow: false }
  return { kind: 'organisation', id: organisation, windows: Object.fromEntries(rows), override: set }
}

/** Members may have different plans: what is raised is the highest of their limits, so that nobody gets less. */
function rowOf(
  window: string,
  known: OrganisationResponse['windows'][string][number] | undefined,
  plans: readonly string[],
  isSet: boolean,
): OverridableWindow {
  const { used = 0, limits = {}, limit: inForce = null } = known ?? {}
  const byDefault = highestLimit(limits)
  const byPlan = Object.fromEntries([...plans, ...Object.keys(limits)].map((plan) => [plan, limits[plan] ?? null]))
  return { scope: 'Organisation', window, used, limit: isSet ? inForce : byDefault, byDefault, byPlan }
}
