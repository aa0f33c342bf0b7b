import type { UnfollowedResponse } from '../../../contract/api.ts'
import { number, t } from '../../i18n/text.ts'
import { Note } from '../../ui/small.tsx'
import { nameOf, shownValue } from './names.ts'

/** The values of a change that nobody follows, and what overrides each; nothing if there are none. */
export function UnfollowedValues({ values }: { readonly values: readonly UnfollowedResponse[] }) {
  if (values.length === 0) return null
  return (
    <Note tone="warn">
      <ul>
        {values.map(({ path, by }) => (
          <li key={path}>
            {t('unfollowed.value', {
              name: nameOf(path),
              why: by.map((each) => hidingWords(each)).join(t('word.listComma')),
            })}
          </li>
        ))}
      </ul>
    </Note>
  )
}

function hidingWords(hiding: UnfollowedResponse['by'][number]): string {
  switch (hiding.kind) {
    case 'plan':
      return t('unfollowed.plan', { plan: hiding.plan, limit: shownValue(hiding.limit) })
    case 'plans':
    case 'overrides':
      return t(`unfollowed.${hiding.kind}`, { count: number(hiding.count) })
    case 'no_users':
    case 'no_organisation':
      return t(`unfollowed.${hiding.kind}`, { plan: hiding.plan })
    case 'mode':
      return t('unfollowed.mode', { mode: t(`mode.${hiding.mode}`) })
    case 'custom':
      return t('unfollowed.custom', { limit: shownValue(hiding.limit) })
    default:
      return t(`unfollowed.${hiding.kind}`)
  }
}
