import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { QuotaAnswer, UsersAnswer } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { visible } from '../../logic/visible.ts'
import { useKept } from '../../parts/keeping.tsx'
import { Loaded, PageTitle, Panel, Turning } from '../../parts/panel.tsx'
import { Bar, Name, Tag } from '../../parts/small.tsx'

const EVERY_MS = 5000
/** For the order by use the store is asked for everybody. */
const BY_USE_EVERY_MS = 60_000
const QUOTA_EVERY_MS = 10_000
const A_PAGE = 25

/** What is looked for, and how far one has looked. */
interface Search {
  readonly typed: string
  readonly byUse: boolean
  /** The cursor belongs to the wish it came with. */
  readonly place: { readonly wish: string; readonly cursor: string } | null
}

const EVERYBODY: Search = { typed: '', byUse: false, place: null }

export function UsersPage() {
  const { t } = useTexts()
  // One comes back to it from each user that was found.
  const [{ typed, byUse, place }, change] = useKept('users', EVERYBODY)
  const search = (part: Partial<Search>) => change((now) => ({ ...now, ...part }))
  const [query] = useDebouncedValue(typed.trim(), 300)
  const wish = new URLSearchParams({ query, limit: String(A_PAGE), ...(byUse && { order: 'use' }) }).toString()
  const cursor = place !== null && place.wish === wish ? place.cursor : null
  const path = `/api/users?${wish}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
  const poll = usePoll<UsersAnswer>(path, byUse ? BY_USE_EVERY_MS : EVERY_MS)
  const shadow = usePoll<QuotaAnswer>('/api/quota', QUOTA_EVERY_MS).data?.shadow === true
  const nobody = query === '' && cursor === null ? 'users.nobody' : 'users.none'
  return (
    <>
      <PageTitle>{t('page.users')}</PageTitle>
      <Panel title={t('users.search')} text={t('users.searchHelp')}>
        <search>
          <TextInput
            aria-label={t('users.search')}
            type="search"
            maxLength={256}
            value={typed}
            onChange={(event) => search({ typed: event.currentTarget.value })}
          />
          <NativeSelect
            label={t('users.order')}
            data={[
              { value: 'override', label: t('users.order.override') },
              { value: 'use', label: t('users.order.use') },
            ]}
            value={byUse ? 'use' : 'override'}
            onChange={(event) => search({ byUse: event.currentTarget.value === 'use' })}
          />
        </search>
        <Loaded poll={poll}>
          {({ users, next }) => (
            <>
              {users.length === 0 && <p role="status">{t(next !== null ? 'users.more' : nobody)}</p>}
              <ul className="users">
                {users.map((user) => (
                  <UserLine key={user.user} line={user} shadow={shadow} />
                ))}
              </ul>
              {query !== '' && !users.some(({ user }) => user === query) && (
                <p>
                  <a href={hashOf('users', query)}>
                    <bdi>{t('users.open', { user: visible(query) })}</bdi>
                  </a>{' '}
                  <span className="muted">{t('users.openHelp')}</span>
                </p>
              )}
              <Turning>
                {cursor !== null && (
                  <Button variant="default" onClick={() => search({ place: null })}>
                    {t('word.first')}
                  </Button>
                )}
                {next !== null && (
                  <Button variant="default" onClick={() => search({ place: { wish, cursor: next } })}>
                    {t('word.next')}
                  </Button>
                )}
              </Turning>
            </>
          )}
        </Loaded>
      </Panel>
    </>
  )
}

interface LineProps {
  readonly line: UsersAnswer['users'][number]
  /** Of the gateway, which lets everybody through. */
  readonly shadow: boolean
}

function UserLine({ line, shadow }: LineProps) {
  const { t, time } = useTexts()
  const { user, windows, override, blocked } = line
  const isLetThrough = shadow || override?.shadow === true
  // Of who has no room also those that are empty: an override of 0 leaves none before anything was used.
  const shown = Object.entries(windows).flatMap(([category, list]) =>
    list.filter(({ used }) => used > 0 || blocked).map((window) => ({ category, ...window })),
  )
  return (
    <li>
      <div className="user-head">
        <a href={hashOf('users', user)}>
          <Name of={user} />
        </a>
        {blocked && <Tag tone={isLetThrough ? 'warn' : 'bad'}>{t('users.blocked')}</Tag>}
        {override && <Tag tone="info">{t('users.override')}</Tag>}
        {override?.bypassGlobal && <Tag>{t('users.bypass')}</Tag>}
        {override?.shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}
        {override?.expiresAt && <span className="muted">{t('users.until', { time: time(override.expiresAt) })}</span>}
      </div>
      {shown.length === 0 ? (
        <span className="muted">{t('users.noUsage')}</span>
      ) : (
        <UsageBars windows={shown} shadow={isLetThrough} />
      )}
    </li>
  )
}

function UsageBars({
  windows,
  shadow,
}: {
  readonly windows: readonly { category: string; window: string; used: number; limit: number }[]
  readonly shadow: boolean
}) {
  const { t, number } = useTexts()
  return (
    <div className="bars">
      {windows.map(({ category, window, used, limit }) => (
        <div key={`${category} ${window}`}>
          <span className="muted">
            {category} {window}: {t('now.gaugeText', { used: number(used), limit: number(limit) })}
          </span>
          <Bar used={used} limit={limit} label={`${category} ${window}`} shadow={shadow} />
        </div>
      ))}
    </div>
  )
}
