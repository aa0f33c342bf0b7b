import type { NowResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { latestRates, type Rates } from '../../logic/rates.ts'
import { shareOf } from '../../logic/route-usage.ts'
import { Panel } from '../../ui/panel.tsx'
import { RateLine } from '../../ui/rate-line.tsx'

const RATES = ['requests', 'refused', 'tokens', 'failed', 'shadowed'] as const
type Rate = (typeof RATES)[number]

/** Of these the share of the requests, or of those that were forwarded, says more than how many there are. */
const SHARED: readonly Rate[] = ['refused', 'failed', 'shadowed']

interface LiveProps {
  readonly now: NowResponse
  readonly history: readonly Rates[]
}

/** What happens in a second, as tiles in one row, and requests and refusals as a line. */
export function Live({ now, history }: LiveProps) {
  const { t, number } = useTexts()
  const latest = now.store.answers ? latestRates(history, now) : undefined
  const inFlight = now.store.answers && now.counts !== null ? number(now.counts.inFlight) : '…'
  return (
    <Panel title={t('now.rates')}>
      <div className="tiles">
        {RATES.map((rate) => (
          <RateTile key={rate} rate={rate} counts={now.counts} latest={latest} />
        ))}
        <div className="tile">
          <div className="tile-name">{t('now.inFlight')}</div>
          <div className="tile-value">{inFlight}</div>
        </div>
      </div>
      {history.length < 2 ? (
        <p className="muted rate-wait">{t(now.store.answers ? 'now.collecting' : 'now.unknown')}</p>
      ) : (
        <RateLine history={history} />
      )}
    </Panel>
  )
}

interface RateTileProps {
  readonly rate: Rate
  readonly counts: NowResponse['counts']
  readonly latest: Rates | undefined
}

function RateTile({ rate, counts, latest }: RateTileProps) {
  const texts = useTexts()
  const { t, number } = texts
  return (
    <div className={`tile ${rate}`}>
      <div className="tile-name">{t(`now.${rate}`)}</div>
      <div className="tile-value">{latest === undefined ? '…' : texts.rate(latest[rate])}</div>
      {latest !== undefined && SHARED.includes(rate) && (
        <Share of={latest[rate]} whole={rate === 'failed' ? 'forwarded' : 'requests'} latest={latest} />
      )}
      {counts !== null && <div className="muted">{t('now.sum', { count: number(counts[rate]) })}</div>}
    </div>
  )
}

interface ShareProps {
  readonly of: number
  readonly whole: 'requests' | 'forwarded'
  readonly latest: Rates
}

function Share({ of, whole, latest }: ShareProps) {
  const { t, share } = useTexts()
  const part = shareOf(of, latest[whole]) ?? 0
  // To the thousandth: more figures would come and go with each look.
  const words = { share: share(Math.floor(part * 1000) / 1000) }
  return <div>{t(whole === 'requests' ? 'now.ofRequests' : 'now.ofForwarded', words)}</div>
}
