import { NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { OrganisationOverrideResponse, OverrideResponse, QuotaResponse } from '../../../admin/api.ts'
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

/** A user or an organisation. */
export interface Line {
  readonly id: string
  /** By category. */
  readonly windows: Readonly<Record<string, readonly LineWindow[]>>
  readonly override: AnyOverride | null
  readonly blocked: boolean
}

interface LineWindow {
  readonly window: string
  readonly used: number
  /** `null` for none. */
  readonly limit: number | null
}

type AnyOverride = OverrideResponse | OrganisationOverrideResponse

export interface ListProps<Page extends { readonly next: string | null }, InForce extends { readonly total: number }> {
  /** In the API, in the address and in the texts. */
  readonly kind: 'users' | 'organisations'
  readonly linesOf: (page: Page) => readonly Line[]
  /** Those that the gateway knows by itself, while the store is out. */
  readonly overridesOf: (response: InForce) => readonly Pick<Line, 'id' | 'override'>[]
}

const EVERYBODY: Search = { typed: '', byUse: false, place: null }

/** The page that lists users, or organisations. */
export function ListPage<P extends { readonly next: string | null }, F extends { readonly total: number }>(
  props: ListProps<P, F>,
) {
  const { kind, linesOf } = props
  const { t } = useTexts()
  // One comes back to it from each user that was found.
  const [{ typed, byUse, place }, change] = useKept(kind, EVERYBODY)
  const search = (part: Partial<Search>) => change((now) => ({ ...now, ...part }))
  const turnTo = (cursor: string) => () => search({ place: { wish, cursor } })
  const [query] = useDebouncedValue(typed.trim(), 300)
  const wish = new URLSearchParams({ query, limit: String(A_PAGE), ...(byUse && { order: 'use' }) }).toString()
  const cursor = place !== null && place.wish === wish ? place.cursor : null
  const path = `/api/${kind}?${wish}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
  const poll = usePoll<P>(path, byUse ? BY_USE_EVERY_MS : EVERY_MS)
  const quota = usePoll<QuotaResponse>('/api/quota', QUOTA_EVERY_MS).data
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out).data
  const shadow = (inForce ?? quota)?.shadow === true
  const nobody = t(query === '' && cursor === null ? `${kind}.nobody` : `${kind}.none`)
  return (
    <>
      <PageTitle>{t(`page.${kind}`)}</PageTitle>
      {out && <OutageBanner inForce={inForce} />}
      <Panel title={t(`${kind}.search`)} text={t(`${kind}.searchHelp`)}>
        <search>
          <TextInput
            aria-label={t(`${kind}.search`)}
            type="search"
            maxLength={256}
            value={typed}
            onChange={(event) => search({ typed: event.currentTarget.value })}
          />
          <NativeSelect
            label={t('users.order')}
            data={[
              { value: 'override', label: t(`${kind}.order.override`) },
              { value: 'use', label: t('users.order.use') },
            ]}
            value={byUse ? 'use' : 'override'}
            onChange={(event) => search({ byUse: event.currentTarget.value === 'use' })}
          />
        </search>
        {out && poll.data === null ? (
          <WithOverride {...props} query={query} shadow={shadow} />
        ) : (
          <Loaded poll={poll} hasBanner>
            {(page) => (
              <>
                {linesOf(page).length === 0 && <p role="status">{page.next !== null ? t('users.more') : nobody}</p>}
                <ul className="users">
                  {linesOf(page).map((line) => (
                    <OneLine key={line.id} kind={kind} line={line} shadow={shadow} />
                  ))}
                </ul>
                <OpenTyped kind={kind} query={query} lines={linesOf(page)} />
                <Turning
                  onFirst={cursor === null ? null : () => search({ place: null })}
                  onNext={page.next === null ? null : turnTo(page.next)}
                />
              </>
            )}
          </Loaded>
        )}
      </Panel>
    </>
  )
}

interface OpenTypedProps {
  readonly kind: 'users' | 'organisations'
  readonly query: string
  readonly lines: readonly { readonly id: string }[]
}

/** Whoever is looked for by the whole id. */
function OpenTyped({ kind, query, lines }: OpenTypedProps) {
  const { t } = useTexts()
  if (query === '' || lines.some(({ id }) => id === query)) return null
  return (
    <p>
      <a href={hashOf(kind, query)}>
        <bdi>{t('users.open', { user: visible(query) })}</bdi>
      </a>{' '}
      <span className="muted">{t(`${kind}.openHelp`)}</span>
    </p>
  )
}

/** Those that the gateway knows by itself, while the store is out. */
function WithOverride<P extends { readonly next: string | null }, F extends { readonly total: number }>({
  kind,
  overridesOf,
  query,
  shadow,
}: ListProps<P, F> & { readonly query: string; readonly shadow: boolean }) {
  const { t, number } = useTexts()
  const wish = new URLSearchParams({ query, limit: String(A_PAGE) }).toString()
  const poll = usePoll<F>(`/api/in-force/${kind}?${wish}`, EVERY_MS)
  return (
    <Loaded poll={poll}>
      {(response) => {
        const { total } = response
        const lines = overridesOf(response)
        return (
          <>
            <p>
              {t(`${kind}.withOverride`, { total: number(total) })}{' '}
              {total > lines.length && t('users.firstOverrides', { shown: number(lines.length) })}
            </p>
            <ul className="users">
              {lines.map((line) => (
                <li key={line.id}>
                  <Head kind={kind} {...line} blocked={false} shadow={shadow} />
                </li>
              ))}
            </ul>
            <OpenTyped kind={kind} query={query} lines={lines} />
          </>
        )
      }}
    </Loaded>
  )
}

interface HeadProps extends Omit<Line, 'windows'> {
  readonly kind: 'users' | 'organisations'
  /** Nothing is refused here. */
  readonly shadow: boolean
}

function Head({ kind, id, override, blocked, shadow }: HeadProps) {
  const { t, time } = useTexts()
  const ofUser = ofUserIn(override)
  return (
    <div className="user-head">
      <a href={hashOf(kind, id)}>
        <Name of={id} />
      </a>
      {blocked && <Tag tone={shadow ? 'warn' : 'bad'}>{t('users.blocked')}</Tag>}
      {override && <Tag tone="info">{t('users.override')}</Tag>}
      {ofUser?.plan !== undefined && <Tag>{ofUser.plan}</Tag>}
      {ofUser?.bypassGlobal && <Tag>{t('users.bypass')}</Tag>}
      {ofUser?.shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}
      {override?.expiresAt && <span className="muted">{t('users.until', { time: time(override.expiresAt) })}</span>}
    </div>
  )
}

/** What only overrides of users have; `null` for none of a user. */
function ofUserIn(override: AnyOverride | null): OverrideResponse | null {
  return override !== null && 'bypassGlobal' in override ? override : null
}

interface LineProps {
  readonly kind: 'users' | 'organisations'
  readonly line: Line
  /** Of the gateway, which lets everybody through. */
  readonly shadow: boolean
}

function OneLine({ kind, line, shadow }: LineProps) {
  const { t } = useTexts()
  const { windows, override, blocked } = line
  const isLetThrough = shadow || ofUserIn(override)?.shadow === true
  // Of who has no room also those that are empty: an override of 0 leaves none before anything was used.
  const shown = Object.entries(windows).flatMap(([category, list]) =>
    list.filter(({ used }) => used > 0 || blocked).map((window) => ({ category, ...window })),
  )
  return (
    <li>
      <Head kind={kind} {...line} shadow={isLetThrough} />
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
  readonly windows: readonly (LineWindow & { readonly category: string })[]
  readonly shadow: boolean
}) {
  const { t, number } = useTexts()
  return (
    <div className="window-bars">
      {windows.map(({ category, window, used, limit }) => (
        <div key={`${category} ${window}`}>
          <span className="muted">
            {category} {window}:{' '}
            {limit === null ? number(used) : t('now.gaugeText', { used: number(used), limit: number(limit) })}
          </span>
          {limit !== null && <Bar used={used} limit={limit} label={`${category} ${window}`} shadow={shadow} />}
        </div>
      ))}
    </div>
  )
}
