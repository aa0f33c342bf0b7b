import type { TokenResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Confirm, type Reason } from '../../ui/confirm.tsx'
import { KeyFacts } from './key-facts.tsx'

interface RevokeProps {
  readonly accessKey: TokenResponse
  readonly onConfirm: (reason: Reason) => Promise<void>
  readonly onClose: () => void
}

/** The question before a key is revoked. */
export function Revoke({ accessKey, onConfirm, onClose }: RevokeProps) {
  const { t } = useTexts()
  return (
    <Confirm
      title={t('keys.revokeOf', { name: visible(accessKey.name), user: visible(accessKey.user) })}
      action={t('keys.revoke')}
      danger
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <KeyFacts accessKey={accessKey} />
      <p>{t('keys.revokeText')}</p>
    </Confirm>
  )
}
