import type {
  OrganisationOverrideResponse,
  OverrideResponse,
  QuotaResponse,
  RefusedUsersResponse,
  StandingResponse,
} from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { type Texts, useTexts } from '../../i18n/text.tsx'
import { type CsvLine, csvHref } from '../../logic/list-csv.ts'
import type { ListRange } from '../../logic/list-filter.ts'
import { hashOf } from '../../logic/location.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { fullestWindows, globalShare, longestTokens } from '../../logic/used-windows.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Name, Tag } from '../../ui/small.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Fullest } from './fullest.tsx'
import './users.css'

export type Kind = 'users' | 'organisations'

/** A user or an organisation. */
export interface Line {
  readonly id: string
  /** By category; `null` while the store is out. */
  readonly windows: Readonly<Record<string, readonly LineWindow[]>> | null
  readonly override: AnyOverride | null
  readonly blocked: boolean
  /** Of a user; not known while the store is out. */
  readonly standing?: StandingResponse | undefined
  /** Of a user, as the last credential named it. */
  readonly organisation?: string | undefined
  /** The plan whose limits the user has. */
  readonly plan?: string | undefined
  /** What it used over the range, in equal steps, if that was asked for. */
  readonly recent?: { readonly tokens: number; readonly steps: readonly number[] } | undefined
}

interface LineWindow {
  readonly window: string
  readonly used: number
  /** `null` for none. */
  readonly limit: number | null
}

type AnyOverride = OverrideResponse | OrganisationOverrideResponse

/** The store looks through all refusals for it. */
const REFUSALS_EVERY_MS = 60_000
const MOST_REFUSED = 100
const NO_COUNTS: ReadonlyMap<string | null, number> = new Map()

interface UsedTableProps {
  readonly kind: Kind
  readonly lines: readonly Line[]
  /** Has the global windows; `null` as long as nobody knows them. */
  readonly quota: QuotaResponse | null
  /** Of the gateway, which lets everybody through. */
  readonly shadow: boolean
  readonly range: ListRange
}

/** What each has used, in the order of the page. */
export function UsedTable({ kind, lines, quota, shadow, range }: UsedTableProps) {
  const texts = useTexts()
  const path =
    kind === 'users' ? `/api/refusals/users?from=${range === '7d' ? '7d' : '24h'}&limit=${MOST_REFUSED}` : null
  const refused = usePoll<RefusedUsersResponse>(path, REFUSALS_EVERY_MS).data
  const isKnown = lines.some(({ windows }) => windows !== null)
  const columns = [
    nameColumn(texts, kind, shadow),
    ...(lines.some(({ organisation }) => organisation !== undefined) ? [organisationColumn(texts)] : []),
    stateColumn(texts),
    ...(isKnown ? usageColumns(texts, { kind, quota, shadow, range }) : []),
    ...(isKnown && kind === 'users' ? [refusalsColumn(texts, refused, range)] : []),
  ]
  return (
    <>
      <DataTable label={texts.t(`page.${kind}`)} columns={columns} rows={lines} keyOf={({ id }) => id} />
      {isKnown && (
        <p className="muted">
          {totalsOf(texts, { kind, lines, range }, refused)}{' '}
          <a href={csvHref(kind, lines.map(csvLine))} download={`${kind}.csv`}>
            {texts.t('users.csvShown')}
          </a>
        </p>
      )}
    </>
  )
}

/** What the rows that are shown make together. */
function totalsOf(
  { t, number }: Texts,
  { kind, lines, range }: Pick<UsedTableProps, 'kind' | 'lines' | 'range'>,
  refused: RefusedUsersResponse | null,
): string {
  const tokens = lines.reduce((sum, line) => sum + tokensOf(line), 0)
  const words = { count: number(lines.length), tokens: number(tokens) }
  const shown = `${t(`${kind}.totals`, words)} ${t(`users.totals.${range}`, words)}`
  if (kind !== 'users' || refused === null) return shown
  const counts = countsOf(refused)
  const count = lines.reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0)
  // Of all others nothing is known if there are more than were asked for.
  const isAll = refused.users.length < MOST_REFUSED || lines.every(({ id }) => counts.has(id))
  const name = isAll ? 'users.totals.refused' : 'users.totals.refusedLeast'
  return `${shown} ${t(name, { count: number(count) })}`
}

function countsOf({ users }: RefusedUsersResponse): ReadonlyMap<string | null, number> {
  return new Map(users.map(({ user, count }) => [user, count]))
}

function nameColumn({ t }: Texts, kind: Kind, shadow: boolean): Column<Line> {
  return {
    ...{ id: 'name', head: t(kind === 'users' ? 'word.user' : 'word.organisation') },
    cell: (line) => (
      <>
        <a href={hashOf(kind, line.id)}>
          <Name of={line.id} />
        </a>{' '}
        <Marks of={line} shadow={shadow} />
      </>
    ),
  }
}

function organisationColumn({ t }: Texts): Column<Line> {
  return {
    ...{ id: 'organisation', head: t('word.organisation') },
    cell: ({ organisation }) =>
      organisation !== undefined && (
        <a href={hashOf('organisations', organisation)}>
          <Name of={organisation} />
        </a>
      ),
  }
}

/** What was set for it. */
function Marks({ of: line, shadow }: { readonly of: Line; readonly shadow: boolean }) {
  const { t, time } = useTexts()
  const { override } = line
  const ofUser = ofUserIn(override)
  const planName = planOf(line)
  return (
    <span className="marks">
      {override && <Tag tone="info">{t('users.override')}</Tag>}
      {planName !== undefined && <Tag>{planName}</Tag>}
      {ofUser?.bypassGlobal && <Tag>{t('users.bypass')}</Tag>}
      {ofUser?.shadow && !shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}
      {override?.expiresAt && <span className="muted">{t('users.until', { time: time(override.expiresAt) })}</span>}
    </span>
  )
}

/** Whether its requests are refused, and by which scope. */
function stateColumn({ t }: Texts): Column<Line> {
  return {
    ...{ id: 'state', head: t('users.state') },
    cell: (line) => {
      const { standing, blocked } = line
      if (standing?.state === 'exempt') return <Tag tone="info">{t('users.exempt')}</Tag>
      if (standing?.by == null) return blocked && <Tag tone="bad">{t('users.blocked')}</Tag>
      return <Tag tone={standing.state === 'shadow' ? 'warn' : 'bad'}>{refusedBy(line, standing.by, t)}</Tag>
    },
  }
}

function refusedBy(line: Line, { scope, category }: NonNullable<StandingResponse['by']>, t: Texts['t']): string {
  if (scope === 'Global') return t('users.globalFull', { categories: category })
  if (scope === 'Organisation') return t('users.organisationFull')
  return t(isBlock(line.override, line.windows ?? {}) ? 'users.isBlock' : 'users.blocked')
}

function usageColumns(
  texts: Texts,
  { kind, quota, shadow, range }: Omit<UsedTableProps, 'lines'>,
): readonly Column<Line>[] {
  const { t, share } = texts
  const shareOf = (line: Line) => globalShare(line.windows ?? {}, quota)
  return [
    {
      ...{ id: 'windows', head: t('users.fullest') },
      cell: (line) => (
        <Fullest
          windows={fullestWindows(line.windows ?? {}, line.blocked)}
          shadow={isLetThrough(line, shadow)}
          cheapest={quota?.cheapest ?? {}}
        />
      ),
    },
    {
      ...{ id: 'tokens', head: t(`users.tokens.${range}`), isNumber: true },
      cell: (line) => <Tokens of={line} range={range} />,
    },
    ...(kind === 'users'
      ? [
          {
            ...{ id: 'share', head: t('users.globalShare'), isNumber: true },
            cell: (line: Line) => {
              const part = shareOf(line)
              if (part === null) return '–'
              return (
                <>
                  {share(part.share)}{' '}
                  <span className="muted">{t('users.shareOf', { category: part.category, window: part.window })}</span>
                </>
              )
            },
          },
        ]
      : []),
  ]
}

function refusalsColumn({ t, number }: Texts, refused: RefusedUsersResponse | null, range: ListRange): Column<Line> {
  const counts = refused === null ? NO_COUNTS : countsOf(refused)
  return {
    ...{ id: 'refused', head: t(range === '7d' ? 'users.refused.7d' : 'users.refused'), isNumber: true },
    cell: ({ id }) => {
      const count = counts.get(id)
      if (count === undefined) return refused === null ? '…' : refused.users.length < MOST_REFUSED ? number(0) : '–'
      return <a href={hashOf('refusals', null, { user: id })}>{number(count)}</a>
    },
  }
}

function csvLine(line: Line): CsvLine {
  const { id, override, blocked } = line
  return { id, plan: planOf(line), override, blocked, tokens: tokensOf(line) }
}

function planOf({ override, plan }: Line): string | undefined {
  return ofUserIn(override)?.plan ?? plan
}

function tokensOf({ recent, windows }: Line): number {
  return recent?.tokens ?? longestTokens(windows ?? {})
}

function Tokens({ of: line, range }: { readonly of: Line; readonly range: ListRange }) {
  const { t, number } = useTexts()
  const { recent } = line
  if (recent === undefined || range === 'windows') return number(tokensOf(line))
  const most = { most: number(Math.max(0, ...recent.steps)), last: number(recent.steps.at(-1) ?? 0) }
  return (
    <span className="tokens">
      {recent.tokens > 0 && <Sparkline values={recent.steps} label={t(`users.spark.${range}`, most)} />}
      {number(recent.tokens)}
    </span>
  )
}

/** What only overrides of users have; `null` for none of a user. */
function ofUserIn(override: AnyOverride | null): OverrideResponse | null {
  return override !== null && 'bypassGlobal' in override ? override : null
}

function isLetThrough({ override }: Line, shadow: boolean): boolean {
  return shadow || ofUserIn(override)?.shadow === true
}
