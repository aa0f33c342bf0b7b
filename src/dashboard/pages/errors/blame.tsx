import { useTexts } from '../../i18n/text.tsx'
import { blameOf } from '../../logic/blame.ts'
import { countedIn, shareOf } from '../../logic/route-usage.ts'
import type { UsageRow } from '../../logic/series.ts'
import { Note } from '../../ui/note.tsx'

interface VerdictProps {
  /** Of the range; `undefined` if nothing was counted. */
  readonly row: UsageRow | undefined
}

/** Whether it is the upstream or the gateway that fails. */
export function Verdict({ row }: VerdictProps) {
  const { t, number, share } = useTexts()
  const counted = countedIn(row)
  const { requests, failed, whose, isAlarming, of, ...blame } = blameOf(counted)
  if (requests === 0) return <p role="status">{t('series.nothing')}</p>
  const parts = [
    { text: t('blame.status5xx', { share: share(of.status5xx) }), count: counted.status5xx },
    { text: t('blame.status0', { share: share(of.status0) }), count: counted.status0 },
    { text: t('blame.gateway5xx', { share: share(of.gateway5xx) }), count: counted.gateway5xx },
  ]
  const words = { requests: number(requests), failed: number(failed), share: share(blame.share) }
  return (
    <>
      <Note tone={failed === 0 ? 'good' : isAlarming ? 'bad' : 'warn'} title={t(`blame.${whose}`)} live={false}>
        {failed === 0 ? t('blame.none', words) : t('blame.failed', words)}{' '}
        {parts
          .filter(({ count }) => count > 0)
          .map(({ text }) => text)
          .join(t('blame.comma'))}
        {failed > 0 && t('blame.end')}
      </Note>
      <p className="muted">
        {t('blame.others', {
          refused: number(counted.refused),
          share: share(shareOf(counted.refused, requests) ?? 0),
          status4xx: number(counted.status4xx),
        })}
      </p>
    </>
  )
}
