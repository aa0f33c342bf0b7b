import type { NowResponse, OrganisationsResponse, QuotaResponse, UsersResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { minute, number, t, windowName } from '../../i18n/text.ts'
import { hashOf } from '../../logic/location.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Bar, Tag, WayTo } from '../../ui/small.tsx'
import { useSharedWindows } from './windows.tsx'

/** The lists are read seldom, because each request looks at everybody. */
const EVERY_MS = 30_000
/** How many users and how many organisations are requested. */
const ASKED = 4
const SHOWN = 6

/** A window that has no room, or will have none. */
interface Pressed {
  readonly scope: 'global' | 'organisation' | 'user'
  /** `null` for global windows. */
  readonly id: string | null
  readonly category: string
  readonly window: string
  readonly used: number
  readonly limit: number
  readonly isFull: boolean
  /** When the window ends if it is full, or else when it will be full; in ISO 8601, `null` for never. */
  readonly at: string | null
  /** How many extra tokens are left to pay while the window is full. Default none. */
  readonly granted?: number | undefined
}

/** Windows that are full, or will be at the present pace: global windows, and those of organisations and users. */
export function Attention({ now }: { readonly now: NowResponse }) {
  const users = usePoll<UsersResponse>(`/api/users?order=full&limit=${ASKED}`, EVERY_MS).data
  const organisations = usePoll<OrganisationsResponse>(`/api/organisations?order=full&limit=${ASKED}`, EVERY_MS).data
  const shared = useSharedWindows(now)
  const cheapest = useQuota()?.cheapest ?? {}
  const pressed = [
    ...shared.flatMap(pressedOfAll),
    ...(organisations?.organisations ?? []).flatMap((each) =>
      pressedOf('organisation', each.organisation, each, cheapest),
    ),
    ...(users?.users ?? []).flatMap((each) => pressedOf('user', each.user, each, cheapest)),
  ].toSorted((a, b) => Number(b.isFull) - Number(a.isFull) || (a.isFull ? 0 : timeOf(a.at) - timeOf(b.at)))
  const { near = 0, blocked = 0 } = users?.counts ?? {}
  return (
    <Panel title={t('attention.title')}>
      <DataTable
        look="dense"
        label={t('attention.title')}
        columns={columnsOf(now.shadow)}
        rows={pressed.slice(0, SHOWN)}
        none={t(now.windows === null ? 'now.unknown' : 'attention.none')}
        keyOf={({ scope, id, category, window }) => `${scope} ${id} ${category} ${window}`}
      />
      <p className="muted">
        <a href={hashOf('users', null, { order: 'full', near: 'true' })}>
          {t('attention.near', { count: number(near) })}
        </a>
        {blocked > 0 && ' · '}
        {blocked > 0 && (
          <a href={hashOf('users', null, { blocked: 'true' })}>{t('attention.blocked', { count: number(blocked) })}</a>
        )}
      </p>
    </Panel>
  )
}

function pressedOfAll({
  category,
  window,
  used,
  limit,
  resetAt,
  forecast,
}: ReturnType<typeof useSharedWindows>[number]): Pressed[] {
  if (forecast.kind !== 'full' && forecast.kind !== 'at') return []
  const at = forecast.kind === 'full' ? resetAt : new Date(forecast.at).toISOString()
  return [{ scope: 'global', id: null, category, window, used, limit, isFull: forecast.kind === 'full', at }]
}

type Listed =
  | Pick<UsersResponse['users'][number], 'worst' | 'forecast' | 'windows' | 'override' | 'standing'>
  | OrganisationsResponse['organisations'][number]

function pressedOf(
  scope: 'organisation' | 'user',
  id: string,
  { worst, forecast, windows, ...of }: Listed,
  cheapest: QuotaResponse['cheapest'],
): Pressed[] {
  if (worst !== null && lacksRoom(worst, cheapest[worst.category])) {
    const { category, window, used, limit, resetAt } = worst
    const granted = 'standing' in of ? of.standing.grants?.left : undefined
    return [{ scope, id, category, window, used, limit, isFull: true, at: resetAt, granted }]
  }
  // A user whom a window of the same category refuses does not go on at the present pace.
  const refusing = 'standing' in of ? of.standing.by : null
  if (forecast === null || forecast.category === refusing?.category) return []
  const { category, window, fullAt } = forecast
  const found = windows[category]?.find((each) => each.window === window)
  return [{ scope, id, category, window, used: found?.used ?? 0, limit: found?.limit ?? 0, isFull: false, at: fullAt }]
}

function timeOf(at: string | null): number {
  return at === null ? Number.POSITIVE_INFINITY : Date.parse(at)
}

function columnsOf(shadow: boolean): readonly Column<Pressed>[] {
  return [
    {
      ...{ id: 'who', head: t('attention.who') },
      cell: ({ scope, id }) =>
        id === null ? t('attention.everybody') : <WayTo page={scope === 'user' ? 'users' : 'organisations'} id={id} />,
    },
    {
      ...{ id: 'use', head: t('word.window') },
      cell: ({ category, window, used, limit, isFull, granted }) => (
        <span className="pressed">
          <Bar
            {...{ used, limit, isFull }}
            shadow={shadow || granted !== undefined}
            label={`${category} ${windowName(window)}`}
          />
          {category} {windowName(window)}
        </span>
      ),
    },
    {
      ...{ id: 'state', head: t('attention.when') },
      cell: ({ isFull, at, granted }) => {
        if (granted !== undefined) return <Tag tone="warn">{t('users.granted', { left: number(granted) })}</Tag>
        const time = at === null ? '–' : minute(new Date(at))
        return (
          <Tag tone={isFull && !shadow ? 'bad' : 'warn'}>{t(isFull ? 'users.until' : 'attention.at', { time })}</Tag>
        )
      },
    },
  ]
}
