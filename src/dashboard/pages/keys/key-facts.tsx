import type { TokenResponse } from '../../../contract/api.ts'
import { useTexts } from '../../i18n/text.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Fact, Facts, Name } from '../../ui/small.tsx'

/** Which key it is: several may have one user and name. */
export function KeyFacts({ accessKey: { id, user, name, createdAt } }: { readonly accessKey: TokenResponse }) {
  const { t } = useTexts()
  return (
    <Facts>
      <Fact name={t('word.user')}>
        <Name of={user} />
      </Fact>
      <Fact name={t('keys.name')}>
        <Name of={name} />
      </Fact>
      <Fact name={t('keys.created')}>
        <Moment at={createdAt} isPast />
      </Fact>
      <Fact name={t('keys.id')}>
        <code>{id}</code>
      </Fact>
    </Facts>
  )
}
