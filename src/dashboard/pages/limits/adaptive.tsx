import type { QuotaResponse, SettingsInForceResponse } from '../../../contract/api.ts'
import { type Texts, useTexts } from '../../i18n/text.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Fact, Facts, Tag } from '../../ui/small.tsx'

interface AdaptiveProps {
  readonly quota: SettingsInForceResponse
  /** Where the factor comes from; `null` if it is not known. */
  readonly counted: QuotaResponse['adaptive'] | null
  /** The store is out. */
  readonly isStale: boolean
}

/** The factor of the adaptive mode and why it is what it is; shown in every mode. */
export function Adaptive({ quota: { adaptive, mode }, counted, isStale }: AdaptiveProps) {
  const { t, number } = useTexts()
  const used = mode === 'adaptive'
  return (
    <Panel title={t('adaptive.title')}>
      <p>
        <strong className="figure">× {number(adaptive.factor)}</strong>{' '}
        <Tag tone={used ? 'good' : 'info'}>{t(used ? 'adaptive.used' : 'adaptive.unused')}</Tag>
      </p>
      {isStale && <p className="muted">{t(counted === null ? 'now.unknown' : 'failed.stale')}</p>}
      {counted !== null && <Counted adaptive={counted} />}
    </Panel>
  )
}

function Counted({ adaptive }: { readonly adaptive: QuotaResponse['adaptive'] }) {
  const texts = useTexts()
  const { t, number, share } = texts
  return (
    <>
      <p>{why(adaptive, texts)}</p>
      <Facts>
        <Fact name={t('adaptive.requests')}>{number(adaptive.requests)}</Fact>
        <Fact name={t('adaptive.failed')}>{number(adaptive.failed)}</Fact>
        <Fact name={t('top.share')}>{adaptive.share === null ? '–' : share(adaptive.share)}</Fact>
        <Fact name={t('adaptive.min', { count: number(adaptive.minRequests) })}>
          {t(adaptive.requests >= adaptive.minRequests ? 'word.yes' : 'word.no')}
        </Fact>
      </Facts>
    </>
  )
}

/** As the API's own sentence, in the language of the page. */
function why(adaptive: QuotaResponse['adaptive'], { t, number, share }: Texts): string {
  const { requests, failed, settled, trust, minRequests, factor } = adaptive
  if (settled === null || adaptive.share === null) return t('adaptive.silence')
  const counted = { requests: number(requests), failed: number(failed), share: share(adaptive.share) }
  const parts = [t('adaptive.counted', counted)]
  if (trust === 0) return [...parts, t('adaptive.few', { count: number(minRequests) })].join(' ')
  if (share(settled) !== share(adaptive.share)) parts.push(t('adaptive.settled', { share: share(settled) }))
  if (trust < 1) parts.push(t('adaptive.part', { count: number(2 * minRequests) }))
  return [...parts, t('adaptive.so', { factor: number(factor) })].join(' ')
}
