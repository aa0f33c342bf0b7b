import type { NowResponse, UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, rate, share, short, t } from '../../i18n/text.ts'
import { FIGURES, type Figure, figuresOf, TWO_DAYS_PATH } from '../../logic/day-change.ts'
import { hashOf, type Page } from '../../logic/location.ts'
import { latestRates, type Rates, rateHistory } from '../../logic/rates.ts'
import { useLooks } from '../../ui/looks.ts'
import { Meanwhile } from '../../ui/outage.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Note } from '../../ui/small.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { ReplicaNotes } from '../replicas/notes.tsx'
import { Attention } from './attention.tsx'
import { Health } from './health.tsx'
import { History } from './history.tsx'
import { StandingNotes } from './standing.tsx'
import { Consumers, Refused } from './top.tsx'
import { Windows } from './windows.tsx'
import './overview.css'

const EVERY_MS = 2000
/** The pause of an unused tab, in milliseconds. It is below the longest gap between looks over which rates are taken (20 s). */
const REST_MS = 15_000

export function OverviewPage() {
  const poll = usePoll<NowResponse>('/api/now', EVERY_MS, REST_MS)
  const { looks, left } = useLooks(poll.data)
  const history = rateHistory(looks)
  const latest = (now: NowResponse) => (now.store.answers ? latestRates(history, now) : undefined)
  return (
    <Loaded poll={poll}>
      {(now) => (
        <>
          {!now.store.answers && (
            <Note tone="warn">
              {t('now.withoutStore')} <Meanwhile storeOutage={now.storeOutage} />
            </Note>
          )}
          <StandingNotes now={now} />
          <Figures latest={latest(now)} />
          <div className="tops">
            <Attention now={now} />
            <Consumers />
            <Refused />
          </div>
          <History />
          <Windows now={now} />
          <Health now={now} latest={latest(now)} />
          <Panel title={t('page.replicas')}>
            <ReplicaNotes now={now} left={left} />
            <p>
              <a href={hashOf('replicas')}>{t('replicas.all')}</a>
            </p>
          </Panel>
        </>
      )}
    </Loaded>
  )
}

const FIGURES_EVERY_MS = 30_000
/** The page with more about each figure. */
const PAGE_OF: Readonly<Record<Figure['name'], Page>> = {
  requests: 'routes',
  refused: 'refusals',
  tokens: 'users',
  failed: 'errors',
}

/** Figures of the last 24 hours, from the store, and the present rates. @param latest `undefined` until rates are measured */
function Figures({ latest }: { readonly latest: Rates | undefined }) {
  const usage = usePoll<UsageResponse>(TWO_DAYS_PATH, FIGURES_EVERY_MS).data
  const figures = usage === null ? null : figuresOf(usage)
  return (
    <section className="figures" aria-label={t('figures.title')}>
      {FIGURES.map((name, i) => (
        <a key={name} className={`tile ${name}`} href={hashOf(PAGE_OF[name])}>
          <span className="tile-name">{t(`now.${name}`)}</span>
          <Numbers figure={figures?.[i]} />
          <span className="muted">{latest && t('figures.now', { rate: rate(latest[name]) })}</span>
        </a>
      ))}
    </section>
  )
}

function Numbers({ figure }: { readonly figure: Figure | undefined }) {
  if (figure === undefined) return <span className="tile-value">…</span>
  const { sum, change, hours } = figure
  const words = change === null ? null : { share: share(Math.floor(Math.abs(change) * 100) / 100) }
  const most = { most: number(Math.max(0, ...hours)), last: number(hours.at(-1) ?? 0) }
  return (
    <>
      <span className="tile-value" title={number(sum)}>
        {short(sum)}
      </span>
      <Sparkline values={hours} label={t('figures.spark', most)} />
      <span className="tile-change">
        {words === null
          ? t('figures.noBefore')
          : t(change !== null && change < 0 ? 'figures.less' : 'figures.more', words)}
      </span>
    </>
  )
}
