import { Chip, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { QuotaResponse } from '../../../contract/api.ts'
import { useOperatorsPoll, useQuota } from '../../api/session.tsx'
import { usePoll } from '../../api/use-poll.ts'
import { number, t } from '../../i18n/text.ts'
import { tableHref } from '../../logic/list-csv.ts'
import {
  A_PAGE,
  filterOf,
  flagsOf,
  type Kind,
  type ListFilter,
  offsetOf,
  offsetWithin,
  pagesBeside,
} from '../../logic/list-filter.ts'
import { type Fields, hashOf } from '../../logic/location.ts'
import { visible } from '../../logic/visible.ts'
import { changeFields, lookFor, useFields } from '../../ui/address.tsx'
import { Choice } from '../../ui/form.tsx'
import { useKept } from '../../ui/kept-state.tsx'
import { isStoreOut, OutageBanner, useInForce } from '../../ui/outage.tsx'
import { Loaded, Panel, Turning } from '../../ui/panel.tsx'
import { useTyped } from '../../ui/typed.ts'
import { type InForceListResponse, type Line, type ListResponse, linesOf, overridesOf } from './line.ts'
import { USUAL_ORDER, UsedTable } from './used-table.tsx'
import './users.css'

const EVERY_MS = 10_000
/** Lists with more than a thousand entries are requested less often, because each request looks at everybody. */
const OF_MANY_EVERY_MS = 30_000
const MANY = 1000

const NO_FIELDS: Fields = {}

/** The page with the list of users or organisations. The search is in the address, so that Back restores it. */
export function ListPage({ kind }: { readonly kind: Kind }) {
  const fields = useFields()
  const [, keep] = useKept<Fields>(`${kind} search`, NO_FIELDS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another address is kept
  useEffect(() => keep(() => fields), [JSON.stringify(fields)])
  return <ListPanel kind={kind} />
}

interface ListPanelProps {
  readonly kind: Kind
  /** Only users of this organisation are listed. Default all. */
  readonly organisation?: string
}

/** A list with its search, filters and pages. */
export function ListPanel({ kind, organisation }: ListPanelProps) {
  const quota = useQuota()
  const search = useSearch(kind, quota, organisation)
  const { query, filter, offset, path } = search
  const [isMany, setMany] = useState(false)
  const poll = usePoll<ListResponse>(path, isMany ? OF_MANY_EVERY_MS : EVERY_MS)
  const page = poll.data
  useEffect(() => setMany((page?.counts?.all ?? 0) > MANY), [page])
  const within = page?.total === undefined ? offset : offsetWithin(offset, page.total)
  useEffect(() => {
    if (within !== offset) turnTo(within)
  }, [within, offset])
  const lines = page === null ? null : linesOf(page, quota)
  const enter = useOpenOnly(kind, query, lines === null ? null : { lines, isAll: page?.total === lines.length })
  const out = isStoreOut(poll.error)
  const inForce = useInForce(out).data
  const shadow = (inForce ?? quota)?.shadow === true
  const plans = Object.keys(quota?.effective.plans ?? {})
  const title = t(organisation === undefined ? `${kind}.search` : 'organisations.members')
  return (
    <Panel title={title} isHidden={organisation === undefined}>
      {out && organisation === undefined && <OutageBanner inForce={inForce} />}
      <div className="wrap list-tools">
        <Search kind={kind} onEnter={enter} />
        {plans.length > 0 && (
          <Choice
            {...{
              'aria-label': t('override.plan'),
              none: t('users.filter.anyPlan'),
              value: filter.plan ?? '',
              values: plans,
            }}
            onChoose={(plan) => lookFor({ plan })}
          />
        )}
        <Chips kind={kind} filter={filter} counts={page?.counts} />
      </div>
      {out && lines === null ? (
        <WithOverride kind={kind} query={query} shadow={shadow} />
      ) : (
        <Loaded poll={poll} hasBanner>
          {() => (
            <>
              <UsedTable
                {...{ kind, shadow, organisation }}
                lines={lines ?? []}
                none={t(nobodyOf(kind, search.isSearch, organisation))}
                read={poll.read}
              />
              <OpenTyped kind={kind} query={query} lines={lines ?? []} />
              {page !== null && <Foot {...{ kind, page, organisation }} offset={offset} lines={lines ?? []} />}
            </>
          )}
        </Loaded>
      )}
    </Panel>
  )
}

/** The text if there is no row. */
function nobodyOf(kind: Kind, isSearch: boolean, organisation: string | undefined) {
  if (organisation !== undefined && !isSearch) return 'organisations.members.none'
  return isSearch ? (`${kind}.none` as const) : (`${kind}.nobody` as const)
}

/** The search that the address has, and the path of its request. */
function useSearch(kind: Kind, quota: QuotaResponse | null, organisation: string | undefined) {
  const fields = useFields()
  const plans = quota === null ? null : Object.keys(quota.effective.plans ?? {})
  const filter = filterOf(fields, kind, plans)
  const offset = offsetOf(fields)
  const query = useTyped(fields.query ?? '')
  const wish = new URLSearchParams({
    ...{ query, limit: String(A_PAGE), order: fields.order ?? USUAL_ORDER, cursor: String(offset), recent: '7d' },
    ...{ ...filter, ...(organisation !== undefined && { organisation }) },
  })
  const isSearch = query !== '' || offset > 0 || Object.keys(filter).length > 0
  return { query, filter, offset, isSearch, path: `/api/${kind}?${wish}` }
}

/** @param isStep whether Back returns to the present page of the list */
function turnTo(offset: number, isStep = false): void {
  changeFields({ cursor: offset === 0 ? null : String(offset) }, isStep)
}

const CSV_HEAD = ['plan', 'override', 'blocked', 'tokens']

interface FootProps {
  readonly kind: Kind
  readonly page: ListResponse
  readonly lines: readonly Line[]
  readonly offset: number
  readonly organisation: string | undefined
}

/** Which entries are shown out of how many, the pages beside them, and the rows as a file. */
function Foot({ kind, page: { total = 0, complete }, lines, offset, organisation }: FootProps) {
  const { before, behind } = pagesBeside(offset, total)
  const csv = lines.flatMap(({ id, plans, override, blocked, use }) =>
    use === null ? [] : [[id, plans.join(' '), String(override !== null), String(blocked), use.tokens]],
  )
  const words = {
    first: number(Math.min(offset + 1, total)),
    last: number(offset + lines.length),
    total: number(total),
  }
  return (
    <div className="wrap list-foot">
      <span role="status">{t(complete === false ? 'users.ofMore' : 'users.ofAll', words)}</span>
      <Turning
        onBefore={before === null ? null : () => turnTo(before, true)}
        onNext={behind === null ? null : () => turnTo(behind, true)}
      />
      {csv.length > 0 && (
        <a href={tableHref([kind === 'users' ? 'user' : 'organisation', ...CSV_HEAD], csv)} download={`${kind}.csv`}>
          {t('users.csvShown')}
        </a>
      )}
      {kind === 'users' && organisation === undefined && (
        <a href="/api/usage?by=user&order=tokens&from=24h&limit=1000&format=csv" download>
          {t('users.csv')}
        </a>
      )}
    </div>
  )
}

interface Shown {
  readonly lines: readonly Line[]
  readonly isAll: boolean
}

/**
 * After Enter, opens the owner with exactly the typed id, or the only owner that the search has found.
 * @param page `null` until it is loaded
 * @returns what to call with the typed text when Enter is pressed
 */
function useOpenOnly(kind: Kind, query: string, page: Shown | null): (typed: string | null) => void {
  const [wanted, setWanted] = useState<string | null>(null)
  const lines = page?.lines ?? []
  const only = lines.find(({ id }) => id === query) ?? (lines.length === 1 && page?.isAll ? lines[0] : undefined)
  const isOver = wanted !== null && wanted === query && page !== null
  useEffect(() => {
    if (!isOver) return
    setWanted(null)
    if (only !== undefined) location.hash = hashOf(kind, only.id)
  }, [isOver, only, kind])
  return setWanted
}

interface SearchProps {
  readonly kind: Kind
  /** Called with `null` when somebody goes on typing. */
  readonly onEnter: (typed: string | null) => void
}

function Search({ kind, onEnter }: SearchProps) {
  const { query = '' } = useFields()
  return (
    <search>
      <TextInput
        aria-label={t(`${kind}.search`)}
        placeholder={t(`${kind}.searchHelp`)}
        type="search"
        maxLength={256}
        value={query}
        onChange={(event) => {
          onEnter(null)
          lookFor({ query: event.currentTarget.value })
        }}
        onKeyDown={(event) => {
          const typed = event.currentTarget.value.trim()
          // Enter may also end a word of an input method.
          if (event.key === 'Enter' && !event.nativeEvent.isComposing && typed !== '') onEnter(typed)
        }}
      />
    </search>
  )
}

interface OpenTypedProps {
  readonly kind: Kind
  readonly query: string
  readonly lines: readonly { readonly id: string }[]
}

/** A link to the owner with the typed id, if none of the listed owners has this id. */
function OpenTyped({ kind, query, lines }: OpenTypedProps) {
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

/** The owners that the gateway knows by itself, while the store is out. */
function WithOverride({ kind, query, shadow }: Pick<OpenTypedProps, 'kind' | 'query'> & { readonly shadow: boolean }) {
  const wish = new URLSearchParams({ query, limit: String(A_PAGE) }).toString()
  const poll = useOperatorsPoll<InForceListResponse>(`/api/in-force/${kind}?${wish}`, EVERY_MS)
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
            <UsedTable kind={kind} lines={lines} shadow={shadow} />
            <OpenTyped kind={kind} query={query} lines={lines} />
          </>
        )
      }}
    </Loaded>
  )
}

interface ChipsProps {
  readonly kind: Kind
  readonly filter: ListFilter
  /** How many entries each filter leaves; `undefined` while unknown. */
  readonly counts: ListResponse['counts']
}

/** Filters of the list. Each chip shows how many entries it leaves. */
function Chips({ kind, filter, counts }: ChipsProps) {
  return (
    <fieldset className="chips" aria-label={t('refusals.filters')}>
      {flagsOf(kind)
        .filter((flag) => filter[flag] === 'true' || counts === undefined || counts[flag] > 0 || ALWAYS.includes(flag))
        .map((flag) => (
          <Chip
            key={flag}
            size="xs"
            variant="outline"
            checked={filter[flag] === 'true'}
            onChange={(checked) => lookFor({ [flag]: checked ? 'true' : null })}
          >
            {t(`users.filter.${flag}`)} <b>{counts === undefined ? '…' : number(counts[flag])}</b>
          </Chip>
        ))}
    </fieldset>
  )
}

/** The filters that are shown even if they leave no entry, because that is worth knowing. */
const ALWAYS: readonly string[] = ['near', 'refused', 'blocked', 'override']
