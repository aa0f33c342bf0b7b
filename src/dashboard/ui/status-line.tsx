import { type ReactNode, useEffect, useState } from 'react'
import type { NowResponse, RefusalsResponse } from '../../admin/api.ts'
import { usePoll } from '../api/use-poll.ts'
import { useTexts } from '../i18n/text.tsx'
import { hashOf } from '../logic/location.ts'
import { type FullWindow, isNobodyRefused, type Status, statusOf } from '../logic/status.ts'
import { Until } from './moment.tsx'
import type { Tone } from './note.tsx'
import { Meanwhile } from './outage.tsx'

const EVERY_MS = 5000
/** As many as say how many users there are; more are "100 or more". */
const LATEST = 100
/** Looks that what happens now is counted over: replicas report in beats. */
const LOOKS = 4

/** On every page: who is refused now, why and until when, and the way to the cure. Green only if nobody is. */
export function StatusLine() {
  const { t } = useTexts()
  const { data: now, error } = usePoll<NowResponse>('/api/now', EVERY_MS)
  const refusals = usePoll<RefusalsResponse>(`/api/refusals?limit=${LATEST}`, EVERY_MS).data
  const before = useEarlier(now)
  if (now === null || (refusals === null && now.store.answers)) return null
  const status = statusOf(now, refusals?.refusals ?? [], before)
  return (
    <section className="status" aria-label={t('status.title')}>
      <Refused status={status} now={now} />
      {status.failing !== null && <Failing share={status.failing} />}
      {status.isShadow && (
        <Line tone="warn" href={hashOf('limits')} cure={t('status.change')}>
          {t('status.shadow')}
        </Line>
      )}
      {isNobodyRefused(status) && !status.isShadow && (
        <Line tone={error === null ? 'good' : 'info'}>
          {t(error === null ? 'status.nobody' : 'status.nobodyBefore')}
        </Line>
      )}
    </section>
  )
}

/** The look at the gateway before the last few. */
function useEarlier(now: NowResponse | null): NowResponse | null {
  const [looks, setLooks] = useState<readonly NowResponse[]>([])
  useEffect(() => {
    if (now?.store.answers) setLooks((before) => [...before, now].slice(-LOOKS))
  }, [now])
  return looks[0] ?? null
}

function Refused({ status, now }: { readonly status: Status; readonly now: NowResponse }) {
  const { t, number } = useTexts()
  const { full, users, organisations, isStoreOut } = status
  const refusals = hashOf('refusals', null, { since: '1h' })
  return (
    <>
      {isStoreOut && (
        <Line tone="bad">
          {t('status.storeOut')} <Meanwhile storeOutage={now.storeOutage} />
        </Line>
      )}
      {full.map((window) => (
        <Full key={window.category} of={window} />
      ))}
      {organisations > 0 && (
        <Line tone="warn" href={refusals} cure={t('status.who')}>
          {t(organisations === 1 ? 'status.organisation' : 'status.organisations', { count: number(organisations) })}
        </Line>
      )}
      {users > 0 && (
        <Line tone="warn" href={refusals} cure={t('status.who')}>
          {t(users === 1 ? 'status.user' : 'status.users', { count: number(users) })}
        </Line>
      )}
    </>
  )
}

function Full({ of: { category, window, until, remaining } }: { readonly of: FullWindow }) {
  const { t, number } = useTexts()
  const words = { category, window, remaining: number(remaining) }
  return (
    <Line tone="bad" href={hashOf('limits')} cure={t('status.change')}>
      {t(remaining === 0 ? 'status.full' : 'status.nearlyFull', words)} {t('status.until')} <Until at={until} />
    </Line>
  )
}

function Failing({ share: part }: { readonly share: number }) {
  const { t, share } = useTexts()
  return (
    <Line tone="bad" href={hashOf('errors')} cure={t('status.errors')}>
      {t('status.failing', { share: share(part) })}
    </Line>
  )
}

interface LineProps {
  readonly tone: Tone
  /** Where it is mended. */
  readonly href?: string
  readonly cure?: string
  readonly children: ReactNode
}

function Line({ tone, href, cure, children }: LineProps) {
  return (
    <p className={`status-line ${tone}`}>
      <span>{children}</span>
      {href !== undefined && <a href={href}>{cure}</a>}
    </p>
  )
}
