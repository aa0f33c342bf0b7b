import { SemiCircleProgress } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { NowResponse, WindowResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { KEPT, type Left, leftBetween, type Rates, rateHistory } from '../../logic/rates.ts'
import { Note } from '../../ui/note.tsx'
import { Meanwhile } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel } from '../../ui/panel.tsx'
import { RateLine } from '../../ui/rate-line.tsx'
import { Fact, Facts, fullness, Tag } from '../../ui/small.tsx'
import { Replicas } from '../replicas.tsx'
import { History } from './history.tsx'
import './overview.css'
import { Top } from './top.tsx'

const EVERY_MS = 2000

export function OverviewPage() {
  const { t } = useTexts()
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS)
  const history = useHistory(poll.data)
  const left = useLeft(poll.data)
  return (
    <>
      <PageTitle>{t('page.overview')}</PageTitle>
      <Loaded poll={poll}>
        {(now) => (
          <>
            {!now.store.answers && <Outage now={now} />}
            {now.shadow && <Note tone="warn">{t('preview.lateShadow')}</Note>}
            {now.authShadow.on && <LetIn letIn={now.authShadow.letIn} />}
            <Live now={now} history={history} />
            <Windows now={now} />
            <History />
            <Top />
            <Health now={now} latest={history.at(-1)} />
            <Replicas now={now} left={left} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** The rates since the page was opened, as far as they are kept. */
function useHistory(now: NowResponse | null): Rates[] {
  const [looks, setLooks] = useState<readonly NowResponse[]>([])
  useEffect(() => {
    if (now?.store.answers) setLooks((before) => [...before, now].slice(-KEPT))
  }, [now])
  return rateHistory(looks)
}

/** Replicas that were here since the page was opened, and are gone: latest first. */
function useLeft(now: NowResponse | null): readonly Left[] {
  const [left, setLeft] = useState<readonly Left[]>([])
  const [before, setBefore] = useState<NowResponse | null>(null)
  // While the store is out nobody can be missed. Set while rendering, so that the list never shows a replica twice.
  if (now !== null && now !== before && now.store.answers) {
    setBefore(now)
    if (before !== null) setLeft([...leftBetween(before, now), ...left].slice(0, LEFT_KEPT))
  }
  return left
}

const LEFT_KEPT = 10

/** What is known while the store is out, and what clients get meanwhile. */
function Outage({ now: { storeOutage } }: { readonly now: NowResponse }) {
  const { t } = useTexts()
  return (
    <Note tone="warn">
      {t('now.withoutStore')} <Meanwhile storeOutage={storeOutage} />
    </Note>
  )
}

/** Who would get 401, were it not for `auth.shadow`. */
function LetIn({ letIn }: { readonly letIn: NowResponse['authShadow']['letIn'] }) {
  const { t, number } = useTexts()
  const counts = letIn === null ? [] : WHY.map((why) => t(`now.letIn.${why}`, { count: number(letIn[why]) }))
  return (
    <Note tone="warn">
      {t('now.authShadow')} {counts.length > 0 && t('now.letIn', { counts: counts.join(t('word.listComma')) })}
    </Note>
  )
}

const WHY = ['missing', 'invalid', 'ambiguous', 'unchecked'] as const

const SHOWN = ['requests', 'refused', 'tokens', 'failed', 'shadowed'] as const

function Live({ now, history }: { readonly now: NowResponse; readonly history: readonly Rates[] }) {
  const { t, number, rate } = useTexts()
  const latest = now.store.answers ? history.at(-1) : undefined
  return (
    <Panel title={t('now.rates')}>
      <div className="tiles">
        {SHOWN.map((field) => (
          <div key={field} className={`tile ${field}`}>
            <div className="tile-name">{t(`now.${field}`)}</div>
            <div className="tile-value">{latest === undefined ? '…' : rate(latest[field])}</div>
            {now.counts !== null && <div className="muted">{t('now.sum', { count: number(now.counts[field]) })}</div>}
          </div>
        ))}
        <div className="tile">
          <div className="tile-name">{t('now.inFlight')}</div>
          <div className="tile-value">
            {now.store.answers && now.counts !== null ? number(now.counts.inFlight) : '…'}
          </div>
        </div>
      </div>
      {history.length < 2 ? (
        <p className="muted">{t(now.store.answers ? 'now.collecting' : 'now.unknown')}</p>
      ) : (
        <RateLine history={history} />
      )}
    </Panel>
  )
}

function Windows({ now }: { readonly now: NowResponse }) {
  const { t } = useTexts()
  const windows = Object.entries(now.windows ?? {}).flatMap(([category, list]) =>
    list.map((window) => ({ category, window })),
  )
  return (
    <Panel title={t('now.windows')} text={t('word.tokensUsed')}>
      {windows.length === 0 && <p className="muted">{t(now.windows === null ? 'now.unknown' : 'now.globalOff')}</p>}
      <div className="gauges">
        {windows.map(({ category, window }) => (
          <Gauge key={`${category} ${window.window}`} category={category} window={window} now={now} />
        ))}
      </div>
    </Panel>
  )
}

const FILLED = { good: 'var(--accent)', warn: 'var(--warn)', bad: 'var(--bad)' } as const

function Gauge({
  category,
  window,
  now: { at, shadow },
}: {
  readonly category: string
  readonly window: WindowResponse
  readonly now: NowResponse
}) {
  const { t, number, share, duration } = useTexts()
  const { used, limit, resetAt } = window
  const part = limit > 0 ? used / limit : 1
  const name = t('now.gauge', { category, window: window.window })
  const words = { used: number(used), limit: number(limit), share: share(part) }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> is a line
    <div
      className="gauge"
      role="meter"
      aria-label={name}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.min(100, Math.floor(part * 100))}
      aria-valuetext={t('now.gaugeValue', words)}
    >
      <div className="gauge-name">{name}</div>
      <SemiCircleProgress
        value={Math.min(100, part * 100)}
        size={120}
        thickness={11}
        filledSegmentColor={FILLED[fullness(part, shadow)]}
        emptySegmentColor="var(--track)"
        label={share(Math.floor(part * 1000) / 1000)}
      />
      <div>{t('now.gaugeText', words)}</div>
      <div className="muted">
        {resetAt === null
          ? t('now.notRunning')
          : t('now.resetsIn', { time: duration(Date.parse(resetAt) - Date.parse(at)) })}
      </div>
    </div>
  )
}

function Health({
  now: { store, backend, config, shadow, controlVersion },
  latest,
}: {
  readonly now: NowResponse
  readonly latest: Rates | undefined
}) {
  const { t } = useTexts()
  const none = t(store.answers ? 'word.none' : 'now.unknown')
  const lastChange = controlVersion === 0 ? none : `#${controlVersion}`
  return (
    <Panel title={t('now.health')}>
      <Facts>
        <Fact name={t('now.store')}>
          <Tag tone={store.answers ? 'good' : 'bad'}>
            {t(store.answers ? 'now.storeAnswers' : 'now.storeOut', { kind: store.kind })}
          </Tag>
        </Fact>
        <Fact name={t('now.backend')}>
          <code>{backend.origin}</code> <Backend {...backend} latest={store.answers ? latest : undefined} />
        </Fact>
        <Fact name={t('now.config')}>
          <code>{config.file}</code>{' '}
          <span className="muted hash" title={t('now.rulesText')}>
            {t('now.rulesOf', { rules: config.hash })}
          </span>
        </Fact>
        <Fact name={t('now.shadow')}>{shadow ? <Tag tone="warn">{t('now.shadowOn')}</Tag> : t('word.off')}</Fact>
        <Fact name={t('now.lastChange')}>{lastChange}</Fact>
      </Facts>
    </Panel>
  )
}

/** A share of errors that is worth alarm: below it one failure in a million would look like an outage. */
const ALARMING = 0.01

function Backend({
  requests,
  status0,
  status5xx,
  latest,
}: NowResponse['backend'] & { readonly latest: Rates | undefined }) {
  const { t, number, share } = useTexts()
  if (requests === null || status0 === null || status5xx === null) return <Tag tone="info">{t('now.unknown')}</Tag>
  if (requests === 0) return <Tag tone="info">{t('now.backendIdle')}</Tag>
  const failed = status0 + status5xx
  const words = { requests: number(requests), status0: number(status0), status5xx: number(status5xx) }
  if (failed === 0) return <Tag tone="good">{t('now.backendGood', words)}</Tag>
  const current = latest === undefined || latest.requests === 0 ? null : latest.failed / latest.requests
  return (
    <>
      {current !== null && (
        <Tag tone={current === 0 ? 'good' : current < ALARMING ? 'warn' : 'bad'}>
          {current === 0 ? t('now.backendNowGood') : t('now.backendNowBad', { share: share(Math.min(1, current)) })}
        </Tag>
      )}{' '}
      <Tag tone={current === 0 || failed / requests < ALARMING ? 'warn' : 'bad'}>
        {t('now.backendBad', { ...words, share: share(Math.min(1, failed / requests)) })}
      </Tag>
    </>
  )
}
