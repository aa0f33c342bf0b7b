import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { StatusResponse } from '../../contract/api.ts'
import { ring } from '../api/client.ts'
import { isAtRest } from '../api/rest.ts'
import { usePoll } from '../api/use-poll.ts'
import { number, share, t, time } from '../i18n/text.ts'
import { hashOf } from '../logic/location.ts'
import { ALARMING, type FullWindow, failingShare, hasNoRefusals } from '../logic/status.ts'
import { Until } from './moment.tsx'
import { Meanwhile } from './outage.tsx'
import { Plain, type Tone } from './small.tsx'

const EVERY_MS = 5000
/** How often an unused tab reads the status. */
const REST_MS = 10_000
/** How many changes are named that were planned and not made, or were taken back. The audit has the others. */
const MOST_UPSETS = 2

/**
 * On every page: which global window refuses everybody and until when, how many were recently refused, and a link to the cure. It is never
 * green, because users without room who send nothing are unknown here. In a narrow window only the first line is shown until the others
 * are opened.
 */
export function StatusLine() {
  const { data: status, error } = usePoll<StatusResponse>('/api/status', EVERY_MS, REST_MS)
  const failing = useFailing(status)
  const [isOpen, setOpen] = useState(false)
  useReadingOfChanges(status?.controlVersion)
  if (status === null) return null
  return (
    <section className={`status${isOpen ? ' open' : ''}`} aria-label={t('status.title')}>
      <Plain className="status-more" size="compact-xs" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t(isOpen ? 'status.less' : 'status.more')}
      </Plain>
      <Refused status={status} />
      {failing !== null && (
        <Line tone={failing >= ALARMING ? 'bad' : 'warn'} href={hashOf('errors')} cure={t('status.errors')}>
          {t('status.failing', { share: share(failing) })}
        </Line>
      )}
      {status.shadow && (
        <Line tone="warn" href={hashOf('limits')} cure={t('status.change')}>
          {t('status.shadow')}
        </Line>
      )}
      {(status.upsets ?? []).slice(0, MOST_UPSETS).map(({ version, at, outcome }) => (
        <Line key={version} tone="warn" href={hashOf('audit')} cure={t('status.audit')}>
          {t(outcome === 'not_made' ? 'status.notMade' : 'status.takenBack', { time: time(at) })}
        </Line>
      ))}
      {hasNoRefusals(status) && !status.shadow && (
        <Line tone="info" href={hashOf('users', null, { blocked: 'true' })} cure={t('status.blocked')}>
          {t(error === null ? 'status.nobody' : 'status.nobodyBefore')}
        </Line>
      )}
    </section>
  )
}

function useFailing(status: StatusResponse | null): number | null {
  const [wasFailing, setFailing] = useState(false)
  const failing = status === null ? null : failingShare(status, wasFailing)
  const isFailing = failing !== null
  useEffect(() => setFailing(isFailing), [isFailing])
  return failing
}

/** An unused tab reads seldom, but it reads changes by administrators at once. */
function useReadingOfChanges(version: number | undefined): void {
  const last = useRef(version)
  useEffect(() => {
    if (last.current !== undefined && last.current !== version && isAtRest()) ring('again')
    last.current = version
  }, [version])
}

const LATELY = ['organisation', 'user', 'global'] as const

function Refused({ status }: { readonly status: StatusResponse }) {
  const { full, store, storeOutage } = status
  const lately = { organisation: status.organisations, user: status.users, global: full.length > 0 ? 0 : status.global }
  return (
    <>
      {!store.answers && (
        <Line tone="bad">
          {t('status.storeOut')} <Meanwhile storeOutage={storeOutage} />
        </Line>
      )}
      {full.map((window) => (
        <Full key={window.category} of={window} />
      ))}
      {LATELY.filter((whose) => lately[whose] > 0).map((whose) => (
        <Line key={whose} tone="warn" href={hashOf('refusals', null, { range: '1h' })} cure={t('status.who')}>
          {t(lately[whose] === 1 ? `status.${whose}` : `status.${whose}s`, { count: number(lately[whose]) })}
        </Line>
      ))}
    </>
  )
}

function Full({ of: { category, window, until, remaining, tooDear } }: { readonly of: FullWindow }) {
  const words = { category, window, remaining: number(remaining) }
  const dear = tooDear === null ? null : { ...words, route: tooDear.match, cost: number(tooDear.cost) }
  return (
    <Line tone="bad" href={hashOf('limits')} cure={t('status.change')}>
      {dear === null ? t('status.full', words) : t('status.nearlyFull', dear)} {t('status.until')} <Until at={until} />
    </Line>
  )
}

interface LineProps {
  readonly tone: Tone
  /** Where to repair it. */
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
