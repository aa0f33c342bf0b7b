import type { NowResponse, ScopedTable } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { baselinesText } from '../../logic/baselines-text.ts'
import { Note } from '../../ui/note.tsx'
import { Meanwhile } from '../../ui/outage.tsx'

/** What is known while the store is out, and what clients get meanwhile. */
export function Outage({ now: { storeOutage } }: { readonly now: NowResponse }) {
  const { t } = useTexts()
  return (
    <Note tone="warn">
      {t('now.withoutStore')} <Meanwhile storeOutage={storeOutage} />
    </Note>
  )
}

/** Limits that nobody wrote, as the lines of the file that would. */
export function Unwritten({ limits, file }: { readonly limits: ScopedTable; readonly file: string }) {
  const { t } = useTexts()
  return (
    <Note tone="warn" title={t('now.unwritten')}>
      {t('now.unwrittenText', { file })}
      <pre>{baselinesText(limits)}</pre>
    </Note>
  )
}

/** Who would get 401, were it not for `auth.shadow`. */
export function LetIn({ letIn }: { readonly letIn: NowResponse['authShadow']['letIn'] }) {
  const { t, number } = useTexts()
  const counts = letIn === null ? [] : WHY.map((why) => t(`now.letIn.${why}`, { count: number(letIn[why]) }))
  return (
    <Note tone="warn">
      {t('now.authShadow')} {counts.length > 0 && t('now.letIn', { counts: counts.join(t('word.listComma')) })}
    </Note>
  )
}

const WHY = ['missing', 'invalid', 'ambiguous', 'unchecked'] as const
