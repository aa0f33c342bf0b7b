import type { Scope } from '../../../admin/api.ts'
import { serverNow } from '../../api/client.ts'
import { useTexts } from '../../i18n/text.tsx'
import { wholeSecond } from '../../logic/format.ts'
import { SCOPE_WORDS } from '../../logic/scope.ts'
import { Note } from '../../ui/note.tsx'

export interface FullWindow {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly used: number
  readonly limit: number
  readonly resetAt: string | null
}

interface StatusProps {
  /** Those without room for the cheapest request of their category. */
  readonly full: readonly FullWindow[]
  /** Nothing is refused here. */
  readonly shadow: boolean
}

/** The first thing of the page: whether anything is refused now, by which limit, and until when. */
export function Status({ full, shadow }: StatusProps) {
  const { t, number, time, duration } = useTexts()
  if (full.length === 0) return <Note tone="good">{t('users.status.room')}</Note>
  return (
    <Note
      tone={shadow ? 'warn' : 'bad'}
      live={false}
      title={t(shadow ? 'users.status.shadow' : 'users.status.refused')}
    >
      <ul className="plain">
        {full.map(({ scope, category, window, used, limit, resetAt }) => (
          <li key={`${scope} ${category} ${window}`}>
            {t('users.status.full', {
              name: `${t(SCOPE_WORDS[scope])} ${category} ${window}`,
              used: number(used),
              limit: number(limit),
            })}{' '}
            {resetAt !== null &&
              t('users.status.until', {
                time: time(wholeSecond(resetAt)),
                duration: duration(Math.max(0, Date.parse(resetAt) - serverNow())),
              })}
          </li>
        ))}
      </ul>
    </Note>
  )
}
