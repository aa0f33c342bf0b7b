import type { TokenResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { visible } from '../../logic/visible.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Fact, Facts, Name } from '../../ui/small.tsx'

interface RevokeProps {
  readonly accessKey: TokenResponse
  readonly onConfirm: (reason: string) => Promise<void>
  readonly onClose: () => void
}

/** The question before a key is revoked. It says which one: several may have one user and name. */
export function Revoke({ accessKey: { id, user, name, createdAt }, onConfirm, onClose }: RevokeProps) {
  const { t } = useTexts()
  return (
    <Confirm
      title={t('keys.revokeOf', { name: visible(name), user: visible(user) })}
      action={t('keys.revoke')}
      danger
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Facts>
        <Fact name={t('word.user')}>
          <Name of={user} />
        </Fact>
        <Fact name={t('keys.name')}>
          <Name of={name} />
        </Fact>
        <Fact name={t('keys.created')}>
          <Moment at={createdAt} />
        </Fact>
        <Fact name={t('keys.id')}>
          <code>{id}</code>
        </Fact>
      </Facts>
      <p>{t('keys.revokeText')}</p>
    </Confirm>
  )
}
