import type { Scope } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { duration, number, relative, t, time } from '../../i18n/text.ts'
import { wholeSecond } from '../../logic/format.ts'
import { limitName } from '../../logic/limit-words.ts'
import { visible } from '../../logic/visible.ts'
import { Note } from '../../ui/small.tsx'

export interface FullWindow {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly used: number
  readonly limit: number
  readonly resetAt: string | null
  /** Only users with this plan have the limit. Default everybody. */
  readonly plan?: string
}

interface StatusProps {
  /** The text if every window has room. Default that nothing is refused. */
  readonly room?: 'users.status.room' | 'organisations.status.room'
  /** The windows without room for the cheapest request of their category. */
  readonly full: readonly FullWindow[]
  /** Extra tokens that pay in place of these windows. Default none. */
  readonly granted?: number | undefined
  /** Whether nothing is charged to the user. Default no. */
  readonly exempt?: boolean
  /** Whether shadow mode is on, so that nothing is refused. */
  readonly shadow: boolean
  /** The override that blocks everything that costs tokens; `null` for none. */
  readonly block: { readonly reason: string; readonly expiresAt: string | null } | null
}

/** The top of the page: whether anything is refused now, by which limit, and until when. */
export function Status({ full, granted, exempt = false, shadow, block, room = 'users.status.room' }: StatusProps) {
  if (exempt) return <Note tone="info">{t('users.status.exempt')}</Note>
  if (block !== null && !shadow) return <Blocked {...block} />
  if (full.length === 0) {
    return (
      <Note tone="good" live={false}>
        {t(room)}
      </Note>
    )
  }
  return (
    <Note
      tone={shadow || granted !== undefined ? 'warn' : 'bad'}
      live={false}
      title={
        granted === undefined
          ? t(shadow ? 'users.status.shadow' : 'users.status.refused')
          : t('users.status.granted', { left: number(granted) })
      }
    >
      <ul className="plain">
        {full.map((window) => (
          <li key={`${window.scope} ${window.category} ${window.window} ${window.plan}`}>
            <FullLine of={window} />
          </li>
        ))}
      </ul>
    </Note>
  )
}

/** A window with a limit of 0 has no room after its end either. */
function FullLine({ of }: { readonly of: FullWindow }) {
  const { used, limit, resetAt, plan } = of
  const name = limitName(of)
  if (limit === 0) return t('users.status.zero', { name })
  return (
    <>
      {t('users.status.full', { name, used: number(used), limit: number(limit) })}{' '}
      {plan !== undefined && t('organisations.status.ofPlan', { plan: visible(plan) })}{' '}
      {resetAt !== null &&
        t('users.status.until', {
          time: time(wholeSecond(resetAt)),
          duration: duration(Math.max(0, Date.parse(resetAt) - serverNow())),
        })}
    </>
  )
}

function Blocked({ reason, expiresAt }: NonNullable<StatusProps['block']>) {
  const title =
    expiresAt === null
      ? t('users.status.blocked')
      : t('users.status.blockedUntil', {
          time: time(expiresAt),
          relative: relative(Date.parse(expiresAt) - serverNow()),
        })
  return (
    <Note tone="bad" live={false} title={title}>
      {t('users.status.block', { reason: visible(reason) })}
    </Note>
  )
}
