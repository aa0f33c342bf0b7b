import type { NewTokenResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Note } from '../../ui/note.tsx'
import { Copyable } from '../../ui/small.tsx'

/** An access key itself, which is shown this once. */
export function MadeKey({ made: { user, token } }: { readonly made: NewTokenResponse }) {
  const { t } = useTexts()
  const title = t('keys.made', { user: visible(user) })
  return (
    <Note tone="good" live title={title}>
      <p>{t('keys.once')}</p>
      <Copyable text={token} label={title} />
    </Note>
  )
}
