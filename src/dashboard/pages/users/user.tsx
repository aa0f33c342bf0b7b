import type { InForceResponse, QuotaResponse, UserInForceResponse, UserResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { flatOf } from '../../logic/override.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { visible } from '../../logic/visible.ts'
import { Note } from '../../ui/note.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel } from '../../ui/panel.tsx'
import { Name } from '../../ui/small.tsx'
import { BackToList } from './back-to-list.tsx'
import { ExplainForm } from './explain.tsx'
import { LimitRows, rowOf } from './limit-rows.tsx'
import { OverrideEditor, OverrideInForce } from './override.tsx'
import { OverrideLines } from './override-lines.tsx'
import { OwnUsage } from './own-usage.tsx'
import { Person } from './person.tsx'
import { QuickActions } from './quick-actions.tsx'
import { RecentRefusals } from './recent-refusals.tsx'
import { Reset } from './reset.tsx'
import { type FullWindow, Status } from './status.tsx'

const EVERY_MS = 3000
const QUOTA_EVERY_MS = 10_000

export function UserPage({ user }: { readonly user: string }) {
  const { t } = useTexts()
  return (
    <>
      <p>
        <BackToList kind="users" />
      </p>
      <PageTitle>
        <Name of={user} />
      </PageTitle>
      {isStep(user) ? (
        <Note tone="warn">
          <p>{t('users.dots')}</p>
        </Note>
      ) : (
        <User user={user} />
      )}
    </>
  )
}

/** These are no ids. A browser takes them for steps from folder to folder, percent-encoded too, and asks for another address. */
export function isStep(user: string): boolean {
  return user === '.' || user === '..'
}

function User({ user }: { readonly user: string }) {
  const poll = usePoll<UserResponse>(pathOf(user), EVERY_MS)
  const quota = usePoll<QuotaResponse>('/api/quota', QUOTA_EVERY_MS).data
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out)
  if (out && poll.data === null) return <WithoutStore user={user} inForce={inForce.data} />
  return (
    <>
      {out && <OutageBanner inForce={inForce.data} />}
      <Loaded poll={poll} hasBanner>
        {(response) => (
          <>
            <Status
              full={fullOf(response, quota)}
              exempt={response.standing.state === 'exempt'}
              shadow={response.standing.state === 'shadow'}
              block={isBlock(response.override, response.windows) ? response.override : null}
            />
            <QuickActions
              of={{ kind: 'user', id: user, ...response }}
              exempt={response.standing.state === 'exempt'}
              etag={poll.etag}
              path={pathOf(user)}
              read={poll.read}
            />
            <Windows response={response} quota={quota} />
            <OwnUsage kind="user" id={user} />
            <RecentRefusals of={{ user }} />
            <OverrideEditor
              quota={quota}
              response={{ kind: 'user', id: user, ...response }}
              etag={poll.etag}
              path={pathOf(user)}
              reload={poll.reload}
              read={poll.read}
            />
            <Reset id={user} path={pathOf(user)} text="reset.text" read={poll.read} reload={poll.reload} />
            <Person user={user} path={pathOf(user)} read={poll.read} reload={poll.reload} />
          </>
        )}
      </Loaded>
      <ExplainForm user={user} />
    </>
  )
}

/** What the gateway enforces for somebody whose counters were not seen before the store was out. */
function WithoutStore({ user, inForce }: { readonly user: string; readonly inForce: InForceResponse | null }) {
  const { t } = useTexts()
  const poll = usePoll<UserInForceResponse>(`/api/in-force/users/${encodeURIComponent(user)}`, EVERY_MS)
  return (
    <>
      <OutageBanner inForce={inForce} />
      <Loaded poll={poll}>
        {({ limits, override, exempt }) => (
          <>
            {exempt && <Status full={[]} exempt shadow={false} block={null} />}
            <Panel title={t('users.windows')}>
              <LimitRows
                label={t('users.windows')}
                limits={Object.entries(limits).flatMap(([category, list]) =>
                  list.map((limit) => ({ category, ...limit, usage: null })),
                )}
                shadow={inForce?.shadow === true || override?.shadow === true}
              />
            </Panel>
            <Panel title={t('override.title')}>
              <OverrideInForce override={override} />
              <OverrideLines
                from={null}
                to={flatOf(override)}
                of={{ kind: 'user', id: user, windows: {}, override }}
                quota={null}
              />
              <p className="muted">{t('outage.edits')}</p>
            </Panel>
          </>
        )}
      </Loaded>
      <ExplainForm user={user} />
    </>
  )
}

function pathOf(user: string): string {
  return `/api/users/${encodeURIComponent(user)}`
}

function isLetThrough({ override }: UserResponse, quota: QuotaResponse | null): boolean {
  return quota?.shadow === true || override?.shadow === true
}

/** The windows without room. Global ones do not refuse whoever bypasses them: the API leaves them out then. */
function fullOf({ windows, standing: { by } }: UserResponse, quota: QuotaResponse | null): FullWindow[] {
  if (by === null) return []
  if (quota === null) return [by]
  return Object.entries(windows).flatMap(([category, list]) =>
    list.filter((limit) => lacksRoom(limit, quota.cheapest[category])).map((limit) => ({ category, ...limit })),
  )
}

interface WindowsProps {
  readonly response: UserResponse
  /** `null` if it is not known yet. */
  readonly quota: QuotaResponse | null
}

function Windows({ response, quota }: WindowsProps) {
  const { t } = useTexts()
  const shadow = isLetThrough(response, quota)
  const isRefusing = response.standing.by !== null
  const limits = Object.entries(response.windows).flatMap(([category, list]) =>
    list.map((limit) => ({
      category,
      ...rowOf(limit),
      lacksRoom: isRefusing && lacksRoom(limit, quota?.cheapest[category]),
    })),
  )
  return (
    <Panel title={t('users.windows')} text={t('word.tokensUsed')}>
      {response.organisation !== undefined && (
        <p>
          {t('users.organisation')}:{' '}
          <a href={hashOf('organisations', response.organisation)}>
            <Name of={response.organisation} />
          </a>
        </p>
      )}
      {response.plan !== undefined && <PlanInForce plan={response.plan} />}
      {limits.length === 0 ? (
        <p className="muted">{t('users.none.windows')}</p>
      ) : (
        <LimitRows label={t('users.windows')} limits={limits} shadow={shadow} />
      )}
    </Panel>
  )
}

/** By what the user's credential named last. */
export function PlanInForce({ plan: { name, from, unknown } }: { readonly plan: NonNullable<UserResponse['plan']> }) {
  const { t } = useTexts()
  return (
    <>
      <p>
        {t('override.plan')}: {name === null ? t('word.none') : <Name of={name} />}
        {from !== null && <span className="muted"> ({t(`users.plan.${from}`)})</span>}
      </p>
      {unknown !== null && <Note tone="warn">{t('users.plan.unknown', { plan: visible(unknown) })}</Note>}
    </>
  )
}
