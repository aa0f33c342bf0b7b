import { Switch } from '@mantine/core'
import type { NewTokenResponse, TokenToHandOverResponse } from '../../../contract/api.ts'
import { t, time } from '../../i18n/text.ts'
import { visible } from '../../logic/visible.ts'
import { Copyable, Note } from '../../ui/small.tsx'

export type Made = NewTokenResponse | TokenToHandOverResponse

interface ByLinkProps {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

/** Whether to make a link instead of showing the key. */
export function ByLink({ checked, onChange }: ByLinkProps) {
  return (
    <Switch
      label={t('keys.byLink')}
      description={t('keys.byLinkHelp')}
      checked={checked}
      onChange={(event) => onChange(event.currentTarget.checked)}
      mb="sm"
    />
  )
}

/** An access key or its link, which is shown only once. */
export function MadeKey({ made }: { readonly made: Made }) {
  const title = t('keys.made', { user: visible(made.user) })
  const isLink = 'handover' in made
  return (
    <Note tone="good" title={title}>
      <p>
        {isLink ? t('keys.linkOnce', { time: time(made.handover.expiresAt), origin: location.origin }) : t('keys.once')}
      </p>
      <Copyable text={isLink ? location.origin + made.handover.path : made.token} label={title} />
    </Note>
  )
}
