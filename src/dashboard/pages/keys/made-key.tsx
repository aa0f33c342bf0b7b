import type { NewTokenResponse, TokenToHandOverResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Note } from '../../ui/note.tsx'
import { Copyable } from '../../ui/small.tsx'

/** An access key itself or the link to it, which is shown this once. */
export function MadeKey({ made }: { readonly made: NewTokenResponse | TokenToHandOverResponse }) {
  const { t, time } = useTexts()
  const title = t('keys.made', { user: visible(made.user) })
  const isLink = 'handover' in made
  return (
    <Note tone="good" live title={title}>
      <p>{isLink ? t('keys.linkOnce', { time: time(made.handover.expiresAt) }) : t('keys.once')}</p>
      <Copyable text={isLink ? location.origin + made.handover.path : made.token} label={title} />
    </Note>
  )
}
