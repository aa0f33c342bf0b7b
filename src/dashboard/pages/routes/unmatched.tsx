import type { RoutesResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Panel } from '../../ui/panel.tsx'

interface UnmatchedProps {
  readonly unmatched: RoutesResponse['unmatched']
}

/** Requests that no rule matched: what becomes of them, how many there were, and the latest. */
export function Unmatched({ unmatched: { kind, hits, latest } }: UnmatchedProps) {
  const { t, number } = useTexts()
  return (
    <Panel title={t('routes.unmatched')} text={t(`routes.unmatched.${kind}`)}>
      <p>{t('routes.unmatchedHits', { count: number(hits) })}</p>
      {latest.length > 0 && (
        <>
          <h3>{t('routes.latest')}</h3>
          <ol className="latest">
            {latest.map((request, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the same request may be there twice
              <li key={i}>
                <code>{request}</code>
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  )
}
