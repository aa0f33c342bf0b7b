import { NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { QuotaResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { filterOf, isDear, isFiltered, LIST_RANGES, type ListRange, listRangeOf } from '../../logic/list-filter.ts'
import { type Fields, hashOf } from '../../logic/location.ts'
import { visible } from '../../logic/visible.ts'
import { useFields } from '../../ui/address.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, PageTitle, Panel, Turning } from '../../ui/panel.tsx'
import { ListFilters } from './list-filters.tsx'
import { useFirstFound } from './use-first-found.ts'
import { type Kind, type Line, UsedTable } from './used-table.tsx'

const EVERY_MS = 5000
/** What each used lately is read one by one. */
const RECENT_EVERY_MS = 10_000
/** For an order by use the store is asked for everybody. */
const ORDERED_EVERY_MS = 60_000
const QUOTA_EVERY_MS = 10_000
const PAUSE_MS = 300
const A_PAGE = 25

/** Without one, those with an override come first. */
const ORDERS = ['', 'use', 'tokens'] as const

const NO_FIELDS: Fields = {}

export interface ListProps<Page extends { readonly next: string | null }, InForce extends { readonly total: number }> {
  /** In the API, in the address and in the texts. */
  readonly kind: Kind
  readonly linesOf: (page: Page) => readonly Line[]
  /** Those that the gateway knows by itself, while the store is out. */
  readonly overridesOf: (response: InForce) => readonly Line[]
}

/** The page that lists users, or organisations. What is looked for is in the address. */
export function ListPage<P extends { readonly next: string | null }, F extends { readonly total: number }>(
  props: ListProps<P, F>,
) {
  const { kind, linesOf } = props
  const { t } = useTexts()
  const quota = usePoll<QuotaResponse>('/api/quota', QUOTA_EVERY_MS).data
  const plans = quota === null ? null : Object.keys(quota.plans ?? {})
  const { query, order, cursor, filter, range, change } = useSearch(kind, plans)
  const recent = range === 'windows' ? {} : { recent: range }
  const wish = { query, limit: String(A_PAGE), ...(order !== '' && { order }), ...filter, ...recent }
  const poll = useFirstFound<P>({
    pathOf: (from) => `/api/${kind}?${new URLSearchParams({ ...wish, ...(from !== null && { cursor: from }) })}`,
    cursor,
    isEmpty: (page) => linesOf(page).length === 0,
    everyMs: order !== '' || isDear(filter) ? ORDERED_EVERY_MS : range === 'windows' ? EVERY_MS : RECENT_EVERY_MS,
  })
  const enter = useOpenOnly(kind, query, poll.data === null ? null : { ...poll.data, lines: linesOf(poll.data) })
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out).data
  const shadow = (inForce ?? quota)?.shadow === true
  const isSearch = query !== '' || cursor !== null || isFiltered(filter)
  const nobody = t(isSearch ? `${kind}.none` : `${kind}.nobody`)
  return (
    <>
      <PageTitle>{t(`page.${kind}`)}</PageTitle>
      {out && <OutageBanner inForce={inForce} />}
      <Panel title={t(`${kind}.search`)} text={t(`${kind}.searchHelp`)}>
        <SearchForm kind={kind} order={order} range={range} change={change} onEnter={enter} />
        <ListFilters kind={kind} filter={filter} plans={plans ?? []} change={change} />
        {out && poll.data === null ? (
          <>
            {isFiltered(filter) && <p role="status">{t('users.filtersOut')}</p>}
            <WithOverride {...props} query={query} shadow={shadow} />
          </>
        ) : (
          <Loaded poll={poll} hasBanner>
            {(page) => (
              <>
                {linesOf(page).length === 0 ? (
                  <p role="status">{page.next !== null ? t('users.more') : nobody}</p>
                ) : (
                  <UsedTable kind={kind} lines={linesOf(page)} quota={quota} shadow={shadow} range={range} />
                )}
                <OpenTyped kind={kind} query={query} lines={linesOf(page)} />
                <Turning
                  onFirst={cursor === null ? null : () => change({ cursor: null }, true)}
                  onNext={page.next === null ? null : () => change({ cursor: page.next }, true)}
                />
              </>
            )}
          </Loaded>
        )}
      </Panel>
    </>
  )
}

/** What the address asks for. The latest is kept for the way back from a user. */
function useSearch(kind: Kind, plans: readonly string[] | null) {
  const [fields, change] = useFields()
  const [, keep] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another address is kept
  useEffect(() => keep(() => fields), [JSON.stringify(fields)])
  const order = ORDERS.find((known) => known === fields.order) ?? ''
  // The API is asked once one has stopped typing.
  const [query] = useDebouncedValue((fields.query ?? '').trim(), PAUSE_MS)
  return {
    query,
    order,
    cursor: fields.cursor ?? null,
    filter: filterOf(fields, kind, plans),
    range: listRangeOf(fields.range),
    change,
  }
}

interface Shown {
  readonly lines: readonly Line[]
  readonly next: string | null
}

/**
 * Opens the only one who was found, or whoever has the very id, once the search is over.
 * @param page `null` until it is there
 * @returns what is to be called with the text that is typed, when Enter is pressed
 */
function useOpenOnly(kind: Kind, query: string, page: Shown | null): (typed: string | null) => void {
  const [wanted, setWanted] = useState<string | null>(null)
  const lines = page?.lines ?? []
  const only =
    lines.find(({ id }) => id === query) ?? (lines.length === 1 && page?.next === null ? lines[0] : undefined)
  const isOver = wanted !== null && wanted === query && page !== null
  useEffect(() => {
    if (!isOver) return
    setWanted(null)
    if (only !== undefined) location.hash = hashOf(kind, only.id)
  }, [isOver, only, kind])
  return setWanted
}

interface SearchFormProps {
  readonly kind: Kind
  readonly order: (typeof ORDERS)[number]
  readonly range: ListRange
  readonly change: (changes: Readonly<Record<string, string | null>>) => void
  /** `null` when more is typed. */
  readonly onEnter: (typed: string | null) => void
}

function SearchForm({ kind, order, range, change, onEnter }: SearchFormProps) {
  const { t } = useTexts()
  const [{ query = '' }] = useFields()
  const names = { '': `${kind}.order.override`, use: 'users.order.use', tokens: 'users.order.tokens' } as const
  return (
    <search className="user-search">
      <TextInput
        aria-label={t(`${kind}.search`)}
        type="search"
        maxLength={256}
        value={query}
        onChange={(event) => {
          onEnter(null)
          change({ query: event.currentTarget.value, cursor: null })
        }}
        onKeyDown={(event) => {
          const typed = event.currentTarget.value.trim()
          // Enter also ends a word of an input method.
          if (event.key === 'Enter' && !event.nativeEvent.isComposing && typed !== '') onEnter(typed)
        }}
      />
      <NativeSelect
        label={t('users.order')}
        data={ORDERS.map((value) => ({ value, label: t(names[value]) }))}
        value={order}
        onChange={(event) => change({ order: event.currentTarget.value, cursor: null })}
      />
      <NativeSelect
        label={t('users.range')}
        data={LIST_RANGES.map((value) => ({ value, label: t(`users.range.${value}`) }))}
        value={range}
        onChange={(event) => change({ range: event.currentTarget.value })}
      />
      {kind === 'users' && (
        <a href="/api/usage?by=user&order=tokens&from=24h&limit=1000&format=csv" download>
          {t('users.csv')}
        </a>
      )}
    </search>
  )
}

interface OpenTypedProps {
  readonly kind: Kind
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
            <UsedTable kind={kind} lines={lines} quota={null} shadow={shadow} range="windows" />
            <OpenTyped kind={kind} query={query} lines={lines} />
          </>
        )
      }}
    </Loaded>
  )
}
