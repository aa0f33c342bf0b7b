import type { OrganisationResponse, QuotaResponse } from '../../../admin/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import type { Overridable, OverridableWindow } from '../../logic/override.ts'
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
import { isStep, PlanInForce } from '../users/user.tsx'

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
            <Status full={fullOf(response, quota)} shadow={quota?.shadow === true} />
            <QuickActions of={overridable(response, quota)} etag={poll.etag} path={path} read={poll.read} />
            <Windows response={response} quota={quota} />
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

function fullOf({ windows }: OrganisationResponse, quota: QuotaResponse | null): FullWindow[] {
  return Object.entries(windows).flatMap(([category, list]) =>
    list.flatMap(({ window, limit, used, resetAt }) =>
      limit !== null && lacksRoom({ used, limit }, quota?.cheapest[category])
        ? [{ scope: 'Organisation' as const, category, window, limit, used, resetAt }]
        : [],
    ),
  )
}

/** Those that have a limit. Others are counted for users with another plan only. */
function Windows({ response, quota }: WindowsProps) {
  const { t } = useTexts()
  const limits = Object.entries(response.windows).flatMap(([category, list]) =>
    list.flatMap(({ window, limit, used, resetAt, source, steps }) => {
      if (limit === null) return []
      const isFull = lacksRoom({ used, limit }, quota?.cheapest[category])
      const row = { category, scope: 'Organisation', window, limit, source, steps } as const
      return [{ ...row, usage: { used, resetAt }, lacksRoom: isFull }]
    }),
  )
  return (
    <Panel title={t('users.windows')} text={t('word.tokensUsed')}>
      {response.plan !== undefined && <PlanInForce plan={response.plan} />}
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
  { organisation, plan, windows, override }: OrganisationResponse,
  quota: QuotaResponse | null,
): Overridable {
  const names = quota?.windowLengths.map(({ name }) => name) ?? []
  const categories = quota?.categories ?? Object.keys(windows)
  const rows = categories.map((category): [string, OverridableWindow[]] => {
    const known = windows[category] ?? []
    const all = names.length > 0 ? names : known.map(({ window }) => window)
    return [
      category,
      all.map((window) =>
        rowOf(
          window,
          known.find((each) => each.window === window),
          plan,
        ),
      ),
    ]
  })
  const set = override && { ...override, bypassGlobal: false, shadow: false }
  return { kind: 'organisation', id: organisation, windows: Object.fromEntries(rows), override: set }
}

function rowOf(
  window: string,
  known: OrganisationResponse['windows'][string][number] | undefined,
  plan: OrganisationResponse['plan'],
): OverridableWindow {
  const { used = 0, limit = null, limits = {} } = known ?? {}
  const byDefault = plan?.name == null ? null : (limits[plan.name] ?? null)
  return { scope: 'Organisation', window, used, limit, byDefault }
}
