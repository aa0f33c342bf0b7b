import type { ReactNode } from 'react'
import { number, share, span, t } from '../../i18n/text.ts'
import { blameOf, choiceOf, worstSteps } from '../../logic/blame.ts'
import { halfHourOf } from '../../logic/half-hour.ts'
import { changed, hashOf } from '../../logic/location.ts'
import { countedIn, shareOf } from '../../logic/route-usage.ts'
import type { SeriesPoint, UsageRow } from '../../logic/series.ts'
import { useFields } from '../../ui/address.tsx'
import { Note } from '../../ui/small.tsx'

interface VerdictProps {
  /** The counts of the time in question; `undefined` if nothing was counted. */
  readonly row: UsageRow | undefined
  /** The steps of the range: half-hours, or days. */
  readonly points: readonly SeriesPoint[]
}

/** Says whether the upstream or the gateway fails, how much each of them fails, and when most. */
export function Verdict({ row, points }: VerdictProps) {
  const counted = countedIn(row)
  const { requests, status5xx, status0, refused, status4xx } = counted
  if (requests === 0) return <p role="status">{t('series.nothing')}</p>
  const { upstream, gateway, whose, isAlarming } = blameOf(counted)
  const worst = worstSteps(points)
  const wordsOf = (part: typeof upstream) => ({
    count: number(part.count),
    whole: number(part.whole),
    share: share(part.share),
  })
  const words = { ...wordsOf(upstream), status5xx: number(status5xx), status0: number(status0) }
  return (
    <>
      <Note tone={whose === 'nobody' ? 'good' : isAlarming ? 'bad' : 'warn'} title={t(`blame.${whose}`)} live={false}>
        {whose === 'nobody' && t('blame.none', { requests: number(requests) })}
        {upstream.count > 0 && <Cause worst={worst.upstream}>{t('blame.upstreamPart', words)}</Cause>}
        {gateway.count > 0 && <Cause worst={worst.gateway}>{t('blame.gatewayPart', wordsOf(gateway))}</Cause>}
      </Note>
      <p className="muted">
        {t('blame.others', {
          refused: number(refused),
          requests: number(requests),
          share: share(shareOf(refused, requests) ?? 0),
          status4xx: number(status4xx),
        })}
      </p>
    </>
  )
}

interface CauseProps {
  readonly worst: ReturnType<typeof worstSteps>['upstream']
  readonly children: ReactNode
}

/** The failures of one side, with a link to its worst step. */
function Cause({ worst, children }: CauseProps) {
  const fields = useFields()
  const hasWay = worst !== null && halfHourOf(fields.half) === null
  return (
    <p>
      {children}{' '}
      {hasWay && (
        <>
          {t('blame.most')}{' '}
          <a href={hashOf('errors', null, changed(fields, choiceOf(worst.point)))}>
            {t('blame.mostAt', { span: span(worst.point.from, worst.point.to), count: number(worst.count) })}
          </a>
        </>
      )}
    </p>
  )
}
