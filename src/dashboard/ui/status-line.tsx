import { Button } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import type { NowResponse, RefusalsResponse, RoutesResponse } from '../../admin/api.ts'
import { usePoll } from '../api/use-poll.ts'
import { useTexts } from '../i18n/text.tsx'
import { costsOf } from '../logic/costs.ts'
import { hashOf } from '../logic/location.ts'
import { ALARMING, FAILING_MS, type FullWindow, isNobodyRefused, type Status, statusOf } from '../logic/status.ts'
import { Until } from './moment.tsx'
import type { Tone } from './note.tsx'
import { Meanwhile } from './outage.tsx'

const EVERY_MS = 5000
/** As many as say how many users there are; more are "100 or more". */
const LATEST = 100
/** The audit has the others. */
const MOST_UPSETS = 2
/** The configuration changes seldom. */
const ROUTES_EVERY_MS = 60_000

/**
 * On every page: who is refused now, why and until when, and the way to the cure. Green only if nobody is. On a narrow window the first
 * line alone is there, in one row, until it is opened.
 */
export function StatusLine() {
  const { t } = useTexts()
  const { data: now, error } = usePoll<NowResponse>('/api/now', EVERY_MS)
  const status = useStatus(now)
  const [isOpen, setOpen] = useState(false)
  if (now === null || status === null) return null
  return (
    <section className={`status${isOpen ? ' open' : ''}`} aria-label={t('status.title')}>
      <Button
        className="status-more"
        size="compact-xs"
        variant="default"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t(isOpen ? 'status.less' : 'status.more')}
      </Button>
      <Refused status={status} now={now} />
      {status.failing !== null && <Failing share={status.failing} />}
      {status.isShadow && (
        <Line tone="warn" href={hashOf('limits')} cure={t('status.change')}>
          {t('status.shadow')}
        </Line>
      )}
      <Upsets of={now.upsets ?? []} />
      {isNobodyRefused(status) && !status.isShadow && (
        <Line tone={error === null ? 'good' : 'info'}>
          {t(error === null ? 'status.nobody' : 'status.nobodyBefore')}
        </Line>
      )}
    </section>
  )
}

/** @returns `null` as long as too little is known */
function useStatus(now: NowResponse | null): Status | null {
  const refusals = usePoll<RefusalsResponse>(`/api/refusals?limit=${LATEST}`, EVERY_MS).data
  const routes = usePoll<RoutesResponse>('/api/routes', ROUTES_EVERY_MS)
  const before = useEarlier(now)
  const [wasFailing, setFailing] = useState(false)
  // Before the costs are known a window with tokens left would pass for a full one, or for none.
  const areCostsKnown = routes.data !== null || routes.error !== null
  const isKnown = now !== null && areCostsKnown && (refusals !== null || !now.store.answers)
  const costs = costsOf(routes.data?.routes ?? [])
  const status = isKnown ? statusOf(now, { refusals: refusals?.refusals ?? [], costs, before, wasFailing }) : null
  const isFailing = status !== null && status.failing !== null
  useEffect(() => setFailing(isFailing), [isFailing])
  return status
}

/** The first look at the gateway in the latest minute. */
function useEarlier(now: NowResponse | null): NowResponse | null {
  const [looks, setLooks] = useState<readonly NowResponse[]>([])
  useEffect(() => {
    if (!now?.store.answers) return
    const since = Date.parse(now.at) - FAILING_MS
    setLooks((before) => [...before, now].filter(({ at }) => Date.parse(at) >= since))
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

function Full({ of: { category, window, until, remaining, tooDear } }: { readonly of: FullWindow }) {
  const { t, number } = useTexts()
  const words = { category, window, remaining: number(remaining) }
  const dear = tooDear === null ? null : { ...words, route: tooDear.match, cost: number(tooDear.cost) }
  return (
    <Line tone="bad" href={hashOf('limits')} cure={t('status.change')}>
      {dear === null ? t('status.full', words) : t('status.nearlyFull', dear)} {t('status.until')} <Until at={until} />
    </Line>
  )
}

/** What somebody wanted to be in force and is not. */
function Upsets({ of }: { readonly of: NonNullable<NowResponse['upsets']> }) {
  const { t, time } = useTexts()
  return of.slice(0, MOST_UPSETS).map(({ version, at, outcome }) => (
    <Line key={version} tone="warn" href={hashOf('audit')} cure={t('status.audit')}>
      {t(outcome === 'not_made' ? 'status.notMade' : 'status.takenBack', { time: time(at) })}
    </Line>
  ))
}

function Failing({ share: part }: { readonly share: number }) {
  const { t, share } = useTexts()
  return (
    <Line tone={part >= ALARMING ? 'bad' : 'warn'} href={hashOf('errors')} cure={t('status.errors')}>
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
