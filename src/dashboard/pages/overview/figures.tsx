import type { UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { FIGURES, type Figure, figuresOf, TWO_DAYS_PATH } from '../../logic/day-change.ts'
import { hashOf, type Page } from '../../logic/location.ts'
import type { Rates } from '../../logic/rates.ts'
import { Sparkline } from '../../ui/sparkline.tsx'

const EVERY_MS = 30_000
/** Where each is looked at further. */
const PAGE_OF: Readonly<Record<Figure['name'], Page>> = {
  requests: 'routes',
  refused: 'refusals',
  tokens: 'users',
  failed: 'errors',
}

/** What happened in the last 24 hours, as the store has it, and what happens now. @param latest `undefined` until it is measured */
export function Figures({ latest }: { readonly latest: Rates | undefined }) {
  const { t, rate } = useTexts()
  const usage = usePoll<UsageResponse>(TWO_DAYS_PATH, EVERY_MS).data
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
  const { t, short, number, share } = useTexts()
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
