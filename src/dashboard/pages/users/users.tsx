import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { OverridesInForceResponse, QuotaResponse, UsersResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { hashOf } from '../../logic/location.ts'
import { visible } from '../../logic/visible.ts'
import { useKept } from '../../ui/kept-state.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel, Turning } from '../../ui/panel.tsx'
import { Bar, Name, Tag } from '../../ui/small.tsx'

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
  const poll = usePoll<UsersResponse>(path, byUse ? BY_USE_EVERY_MS : EVERY_MS)
  const quota = usePoll<QuotaResponse>('/api/quota', QUOTA_EVERY_MS).data
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out).data
  const shadow = (inForce ?? quota)?.shadow === true
  const nobody = query === '' && cursor === null ? 'users.nobody' : 'users.none'
  return (
    <>
      <PageTitle>{t('page.users')}</PageTitle>
      {out && <OutageBanner inForce={inForce} />}
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
        {out && poll.data === null ? (
          <WithOverride query={query} shadow={shadow} />
        ) : (
          <Loaded poll={poll} hasBanner>
            {({ users, next }) => (
              <>
                {users.length === 0 && <p role="status">{t(next !== null ? 'users.more' : nobody)}</p>}
                <ul className="users">
                  {users.map((user) => (
                    <UserLine key={user.user} line={user} shadow={shadow} />
                  ))}
                </ul>
                <OpenTyped query={query} users={users} />
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
        )}
      </Panel>
    </>
  )
}

/** Whoever is looked for by the whole id. */
function OpenTyped({ query, users }: { readonly query: string; readonly users: readonly { readonly user: string }[] }) {
  const { t } = useTexts()
  if (query === '' || users.some(({ user }) => user === query)) return null
  return (
    <p>
      <a href={hashOf('users', query)}>
        <bdi>{t('users.open', { user: visible(query) })}</bdi>
      </a>{' '}
      <span className="muted">{t('users.openHelp')}</span>
    </p>
  )
}

/** The users that the gateway knows by itself, while the store is out. */
function WithOverride({ query, shadow }: { readonly query: string; readonly shadow: boolean }) {
  const { t, number } = useTexts()
  const wish = new URLSearchParams({ query, limit: String(A_PAGE) }).toString()
  const poll = usePoll<OverridesInForceResponse>(`/api/in-force/users?${wish}`, EVERY_MS)
  return (
    <Loaded poll={poll}>
      {({ users, total }) => (
        <>
          <p>
            {t('users.withOverride', { total: number(total) })}{' '}
            {total > users.length && t('users.firstOverrides', { shown: number(users.length) })}
          </p>
          <ul className="users">
            {users.map(({ user, override }) => (
              <li key={user}>
                <UserHead user={user} override={override} blocked={false} shadow={shadow} />
              </li>
            ))}
          </ul>
          <OpenTyped query={query} users={users} />
        </>
      )}
    </Loaded>
  )
}

interface HeadProps extends Pick<UsersResponse['users'][number], 'user' | 'override' | 'blocked'> {
  /** Nothing is refused to this user. */
  readonly shadow: boolean
}

function UserHead({ user, override, blocked, shadow }: HeadProps) {
  const { t, time } = useTexts()
  return (
    <div className="user-head">
      <a href={hashOf('users', user)}>
        <Name of={user} />
      </a>
      {blocked && <Tag tone={shadow ? 'warn' : 'bad'}>{t('users.blocked')}</Tag>}
      {override && <Tag tone="info">{t('users.override')}</Tag>}
      {override?.plan !== undefined && <Tag>{override.plan}</Tag>}
      {override?.bypassGlobal && <Tag>{t('users.bypass')}</Tag>}
      {override?.shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}
      {override?.expiresAt && <span className="muted">{t('users.until', { time: time(override.expiresAt) })}</span>}
    </div>
  )
}

interface LineProps {
  readonly line: UsersResponse['users'][number]
  /** Of the gateway, which lets everybody through. */
  readonly shadow: boolean
}

function UserLine({ line, shadow }: LineProps) {
  const { t } = useTexts()
  const { user, windows, override, blocked } = line
  const isLetThrough = shadow || override?.shadow === true
  // Of who has no room also those that are empty: an override of 0 leaves none before anything was used.
  const shown = Object.entries(windows).flatMap(([category, list]) =>
    list.filter(({ used }) => used > 0 || blocked).map((window) => ({ category, ...window })),
  )
  return (
    <li>
      <UserHead user={user} override={override} blocked={blocked} shadow={isLetThrough} />
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
