import { Button } from '@mantine/core'
import { useState } from 'react'
import type { InForceResponse, QuotaResponse, UserInForceResponse, UserResponse } from '../../../admin/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { ApiError, call, isOutcomeUnknown, serverNow } from '../../api/client.ts'
import { type Polled, usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { flatOf } from '../../logic/override.ts'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Differences } from '../../ui/differences.tsx'
import { messageOf } from '../../ui/failure.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { Note } from '../../ui/note.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel } from '../../ui/panel.tsx'
import { At, Changing, Name } from '../../ui/small.tsx'
import { ExplainForm } from './explain.tsx'
import { LimitRows, rowOf } from './limit-rows.tsx'
import { OverrideEditor, OverrideInForce } from './override.tsx'

const EVERY_MS = 3000
const QUOTA_EVERY_MS = 10_000

export function UserPage({ user }: { readonly user: string }) {
  const { t } = useTexts()
  return (
    <>
      <p>
        <a href={hashOf('users')}>← {t('users.back')}</a>
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

/** These are no user ids. A browser takes them for steps from folder to folder, percent-encoded too, and asks for another address. */
function isStep(user: string): boolean {
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
            <Windows response={response} quota={quota} />
            <OverrideEditor
              quota={quota}
              response={response}
              etag={poll.etag}
              path={pathOf(user)}
              reload={poll.reload}
              read={poll.read}
            />
            <Reset user={user} read={poll.read} reload={poll.reload} />
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
        {({ limits, override }) => (
          <>
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
              <Differences of={{ what: 'override', from: null, to: flatOf(override) }} />
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

interface WindowsProps {
  readonly response: UserResponse
  /** `null` if it is not known yet. */
  readonly quota: QuotaResponse | null
}

function Windows({ response, quota }: WindowsProps) {
  const { t } = useTexts()
  const shadow = quota?.shadow === true || response.override?.shadow === true
  const limits = Object.entries(response.windows).flatMap(([category, list]) =>
    list.map((limit) => ({ category, ...rowOf(limit), lacksRoom: lacksRoom(limit, quota?.cheapest[category]) })),
  )
  return (
    <Panel title={t('users.windows')} text={t('word.tokensUsed')}>
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
function PlanInForce({ plan: { name, from, unknown } }: { readonly plan: NonNullable<UserResponse['plan']> }) {
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

function Reset({ user, read, reload }: { readonly user: string } & Pick<Polled<UserResponse>, 'read' | 'reload'>) {
  const { t } = useTexts()
  const [asking, setAsking] = useState(false)
  // Of this user, also if one looks at another one before it is here.
  const [outcome, change] = useKept<Date | Error | null>(`reset of ${user}`, null)
  async function reset(reason: string): Promise<void> {
    change(() => null)
    try {
      await call('POST', `${pathOf(user)}/reset`, { body: { reason } })
      await read()
      change(() => new Date(serverNow()))
    } catch (caught) {
      // A session that is over has the sign-in say so, and its dialog goes on.
      if (!(caught instanceof ApiError && caught.status === 401)) change(() => caught as Error)
      if (!isOutcomeUnknown(caught)) throw caught
      reload()
    }
  }
  return (
    <Panel title={t('reset.title')} text={t('reset.text')}>
      <Changing label={t('reset.title')}>
        <Button variant="default" onClick={() => setAsking(true)}>
          {t('reset.open')}
        </Button>
      </Changing>
      {outcome instanceof Date && (
        <Note tone="good" live>
          {t('reset.done')} <At at={outcome.toISOString()} />
        </Note>
      )}
      {outcome instanceof Error && !asking && <Note tone="bad">{messageOf(outcome, t)}</Note>}
      {asking && (
        <Confirm
          title={`${t('reset.title')}: ${visible(user)}`}
          action={t('reset.do')}
          danger
          needsReason
          onConfirm={reset}
          onClose={() => setAsking(false)}
        >
          <p>{t('reset.text')}</p>
        </Confirm>
      )}
    </Panel>
  )
}
