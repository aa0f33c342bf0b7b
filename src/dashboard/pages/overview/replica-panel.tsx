import type { NowResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import type { Left } from '../../logic/rates.ts'
import { Panel } from '../../ui/panel.tsx'
import { ReplicaNotes } from '../replicas/notes.tsx'

/** Whether all replicas decide alike. What each does has a page of its own. */
export function ReplicaPanel({ now, left }: { readonly now: NowResponse; readonly left: readonly Left[] }) {
  const { t } = useTexts()
  return (
    <Panel title={t('page.replicas')}>
      <ReplicaNotes now={now} left={left} />
      <p>
        <a href={hashOf('replicas')}>{t('replicas.all')}</a>
      </p>
    </Panel>
  )
}
