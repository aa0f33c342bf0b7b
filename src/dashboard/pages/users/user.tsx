import type { InForceResponse, QuotaResponse, UserInForceResponse, UserResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { number, t } from '../../i18n/text.ts'
import { inOneList } from '../../logic/by-category.ts'
import { flatOf } from '../../logic/override.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { visible } from '../../logic/visible.ts'
import { OutageBanner } from '../../ui/outage.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Name, Note, WayTo } from '../../ui/small.tsx'
import { ExplainForm } from './explain.tsx'
import { LimitRows, rowOf, WindowsPanel } from './limit-rows.tsx'
import { OverrideInForce } from './override.tsx'
import { OverrideLines } from './override-lines.tsx'
import type { Ways } from './own.ts'
import { OwnPage } from './own-page.tsx'
import { OwnParts } from './own-parts.tsx'
import { type FullWindow, Status } from './status.tsx'

const EVERY_MS = 3000

export function UserPage({ id: user }: { readonly id: string }) {
  return (
    <OwnPage<UserResponse>
      kind="users"
      id={user}
      withoutStore={(inForce) => <WithoutStore user={user} inForce={inForce} />}
    >
      {(response, ways) => <User response={response} ways={ways} />}
    </OwnPage>
  )
}

function User({ response, ways }: { readonly response: UserResponse; readonly ways: Ways }) {
  const { standing, override, windows } = response
  const exempt = standing.state === 'exempt'
  return (
    <>
      <Member of={response} />
      <Status
        full={fullOf(response, useQuota())}
        granted={standing.grants?.left}
        exempt={exempt}
        shadow={standing.state === 'shadow'}
        block={isBlock(override, windows) ? override : null}
      />
      <OwnParts
        response={{ kind: 'user', id: response.user, ...response }}
        exempt={exempt}
        unseen={response.unseen === true}
        {...ways}
        windows={<Windows response={response} />}
      />
    </>
  )
}

/** What the gateway enforces for a user whose counters were not seen before the outage. */
function WithoutStore({ user, inForce }: { readonly user: string; readonly inForce: InForceResponse | null }) {
  const poll = usePoll<UserInForceResponse>(`/api/in-force/users/${encodeURIComponent(user)}`, EVERY_MS)
  return (
    <>
      <OutageBanner inForce={inForce} />
      <Loaded poll={poll}>
        {({ limits, override, exempt, incomplete = false }) => (
          <>
            {exempt && <Status full={[]} exempt shadow={false} block={null} />}
            <Panel title={t('users.windows')}>
              <LimitRows
                label={t('users.windows')}
                limits={inOneList(limits).map((limit) => ({ ...limit, usage: null }))}
                shadow={inForce?.shadow === true || override?.shadow === true}
              />
              {incomplete && <p className="muted">{t('outage.planUnknown')}</p>}
            </Panel>
            <Panel title={t('override.title')}>
              <OverrideInForce override={override} />
              <OverrideLines from={null} to={flatOf(override)} of={{ kind: 'user', id: user, windows: {}, override }} />
              <p className="muted">{t('outage.edits')}</p>
            </Panel>
          </>
        )}
      </Loaded>
      <ExplainForm user={user} />
    </>
  )
}

/** The windows without room. Global ones are missing if the user bypasses them. */
function fullOf({ windows, standing }: UserResponse, quota: QuotaResponse | null): FullWindow[] {
  const first = standing.by ?? standing.grants
  if (first === undefined) return []
  if (quota === null) return [first]
  return inOneList(windows).filter((limit) => lacksRoom(limit, quota.cheapest[limit.category]))
}

function Windows({ response }: { readonly response: UserResponse }) {
  const quota = useQuota()
  const isLetThrough = quota?.shadow === true || response.override?.shadow === true
  const shadow = isLetThrough || response.standing.state === 'granted'
  const isRefusing = response.standing.by !== null
  const limits = inOneList(response.windows).map((limit) => ({
    ...rowOf(limit),
    lacksRoom: isRefusing && lacksRoom(limit, quota?.cheapest[limit.category]),
  }))
  const shared = limits.filter(({ scope }) => scope === 'Global')
  return (
    <WindowsPanel
      text={t('word.tokensUsed')}
      none={t('users.none.windows')}
      shown={limits.filter(({ scope }) => scope !== 'Global')}
      others={shared}
      summary={t('users.shared', { count: number(shared.length) })}
      isOpen={shared.some((each) => each.lacksRoom)}
      shadow={shadow}
    />
  )
}

/** Plan, organisation and billing day of the user. */
function Member({ of: { plan, organisation, periodDay } }: { readonly of: UserResponse }) {
  if (plan === undefined && organisation === undefined && periodDay === undefined) return null
  return (
    <div className="wrap member">
      {plan !== undefined && (
        <p>
          {t('override.plan')}
          {t('word.colon')}
          {plan.name === null ? t('word.none') : <Name of={plan.name} />}
          {plan.from !== null && <span className="muted"> ({t(`by.${plan.from}`)})</span>}
        </p>
      )}
      {plan?.unknown != null && <Note tone="warn">{t('users.plan.unknown', { plan: visible(plan.unknown) })}</Note>}
      {organisation !== undefined && (
        <p>
          {t('word.organisation')}
          {t('word.colon')}
          <WayTo page="organisations" id={organisation} />
        </p>
      )}
      {periodDay !== undefined && <PeriodDayInForce {...periodDay} />}
    </div>
  )
}

/** The first day of months, and where it is set. */
export function PeriodDayInForce({ day, from }: NonNullable<UserResponse['periodDay']>) {
  return (
    <p>
      {t('periodDay', { day })} <span className="muted">({t(`by.${from}`)})</span>
    </p>
  )
}
