import type { QuotaAnswer } from '../../../admin/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Fact, Facts, Tag } from '../../parts/small.tsx'

/** The factor of the adaptive mode and why it is what it is; told in every mode. */
export function Adaptive({ quota: { adaptive, mode } }: { readonly quota: QuotaAnswer }) {
  const { t, number, share } = useTexts()
  const used = mode === 'adaptive'
  return (
    <Panel title={t('adaptive.title')}>
      <p>
        <strong className="figure">× {number(adaptive.factor)}</strong>{' '}
        <Tag tone={used ? 'good' : 'info'}>{t(used ? 'adaptive.used' : 'adaptive.unused')}</Tag>
      </p>
      <p lang="en">{adaptive.why}</p>
      <Facts>
        <Fact name={t('adaptive.requests')}>{number(adaptive.requests)}</Fact>
        <Fact name={t('adaptive.failed')}>{number(adaptive.failed)}</Fact>
        <Fact name={t('adaptive.share')}>{adaptive.share === null ? '–' : share(adaptive.share)}</Fact>
        <Fact name={t('adaptive.min', { count: number(adaptive.minRequests) })}>
          {t(adaptive.requests >= adaptive.minRequests ? 'word.yes' : 'word.no')}
        </Fact>
      </Facts>
    </Panel>
  )
}
