import type { QuotaResponse, StandingResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { type Texts, useTexts } from '../../i18n/text.tsx'
import type { Kind } from '../../logic/list-filter.ts'
import { hashOf } from '../../logic/location.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Bar, Name, Tag, WayTo } from '../../ui/small.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import type { Line } from './line.ts'
import { RowActions } from './row-actions.tsx'

/** Nearest to a limit first. */
export const USUAL_ORDER = 'use'

interface UsedTableProps {
  readonly kind: Kind
  readonly lines: readonly Line[]
  /** Has what the cheapest request costs; `null` as long as nobody knows it. */
  readonly quota: QuotaResponse | null
  /** Of the gateway, which lets everybody through. */
  readonly shadow: boolean
  /** Whose users they are, if they are those of one organisation. */
  readonly organisation?: string | undefined
  /** Reads the list again. */
  readonly read?: () => Promise<void>
}

type Columns = readonly Column<Line>[]

/** A row of one line for each, in the order of the page. */
export function UsedTable({ kind, lines, quota, shadow, organisation, read }: UsedTableProps) {
  const texts = useTexts()
  const columns: Columns = [
    nameColumn(texts, kind),
    stateColumn(texts, shadow),
    ...(quota?.effective.plans === undefined ? [] : [planColumn(texts, kind)]),
    ...(kind === 'users' && organisation === undefined && lines.some((line) => line.organisation !== undefined)
      ? [organisationColumn(texts)]
      : []),
    ...(kind === 'organisations' ? [usersColumn(texts)] : []),
    ...(lines.some(({ use }) => use !== null) ? usageColumns(texts, { kind, quota, shadow }) : []),
    ...(read === undefined
      ? []
      : [
          {
            ...{ id: 'actions', head: '' },
            cell: (line: Line) => line.use !== null && <RowActions line={line} of={line.use.of} read={read} />,
          },
        ]),
  ]
  return (
    <div className="used-list">
      <DataTable
        isDense
        label={texts.t(`page.${kind}`)}
        columns={columns}
        rows={lines}
        keyOf={({ id }) => id}
        usual={USUAL_ORDER}
      />
    </div>
  )
}

function nameColumn({ t }: Texts, kind: Kind): Column<Line> {
  return {
    ...{ id: 'name', head: t(kind === 'users' ? 'word.user' : 'word.organisation'), sort: 'server' },
    cell: ({ id }) => <WayTo page={kind} id={id} />,
  }
}

function planColumn({ t }: Texts, kind: Kind): Column<Line> {
  return {
    ...{
      id: 'plan',
      head: t(kind === 'users' ? 'override.plan' : 'plans.title'),
      sort: 'server',
      isWideOnly: true,
    },
    cell: ({ plans }) => plans.length > 0 && <Name of={plans.join(', ')} />,
  }
}

function organisationColumn({ t }: Texts): Column<Line> {
  return {
    ...{ id: 'organisation', head: t('word.organisation'), sort: 'server', isWideOnly: true },
    cell: ({ organisation }) => organisation !== undefined && <WayTo page="organisations" id={organisation} />,
  }
}

function usersColumn({ t }: Texts): Column<Line> {
  return {
    ...{ id: 'users', head: t('page.users'), sort: 'server', isNumber: true },
    count: ({ users = 0 }) => users,
  }
}

/** Whether requests are refused, and by which scope; then what was set. */
function stateColumn(texts: Texts, shadow: boolean): Column<Line> {
  const { t, time } = texts
  return {
    ...{ id: 'state', head: t('word.state') },
    cell: (line) => {
      const { override } = line
      const ofUser = ofUserIn(override)
      const until = override?.expiresAt ?? null
      return (
        <span className="marks">
          <StateTag of={line} />
          {override && (
            <span title={`${override.reason}${until === null ? '' : `, ${t('users.until', { time: time(until) })}`}`}>
              <Tag tone="info">{t('users.override')}</Tag>
            </span>
          )}
          {ofUser?.bypassGlobal && <Tag>{t('users.bypass')}</Tag>}
          {ofUser?.shadow && !shadow && <Tag tone="warn">{t('users.shadow')}</Tag>}
        </span>
      )
    },
  }
}

function StateTag({ of: line }: { readonly of: Line }) {
  const { t } = useTexts()
  const { standing, blocked } = line
  if (standing?.state === 'exempt') return <Tag tone="info">{t('users.exempt')}</Tag>
  if (standing?.by == null)
    return blocked && <Tag tone="bad">{t(isBlocked(line) ? 'users.isBlock' : 'users.blocked')}</Tag>
  return <Tag tone={standing.state === 'shadow' ? 'warn' : 'bad'}>{refusedBy(line, standing.by, t)}</Tag>
}

function refusedBy(line: Line, { scope, category }: NonNullable<StandingResponse['by']>, t: Texts['t']): string {
  if (scope === 'Global') return t('users.globalFull', { categories: category })
  if (scope === 'Organisation') return t('users.organisationFull')
  return t(isBlocked(line) ? 'users.isBlock' : 'users.blocked')
}

function isBlocked({ override, use }: Line): boolean {
  return isBlock(override, use?.of.windows ?? {})
}

function usageColumns(texts: Texts, { quota, shadow }: Pick<UsedTableProps, 'kind' | 'quota' | 'shadow'>): Columns {
  const { t, number, minute, windowName } = texts
  const soon = (at: string | null | undefined) =>
    at == null ? <span className="muted">–</span> : <time dateTime={at}>{minute(new Date(at))}</time>
  return [
    {
      ...{ id: 'use', head: t('users.fullest'), sort: 'server', isRanked: true },
      cell: (line) => <Worst of={line} quota={quota} shadow={shadow || ofUserIn(line.override)?.shadow === true} />,
    },
    {
      ...{ id: 'reset', head: t('users.resets'), sort: 'server', isWideOnly: true },
      cell: ({ use }) => soon(use?.worst?.resetAt),
    },
    {
      ...{ id: 'full', head: t('users.fullAt'), sort: 'server', isWideOnly: true },
      cell: ({ use }) => {
        if (isFull(use, quota)) return t('users.fullNow')
        return (
          <span title={use?.forecast ? `${use.forecast.category} ${windowName(use.forecast.window)}` : undefined}>
            {soon(use?.forecast?.fullAt)}
          </span>
        )
      },
    },
    {
      ...{ id: 'tokens', head: t('history.tokens'), sort: 'server', isNumber: true },
      cell: ({ use }) => <Tokens of={use} />,
    },
    {
      ...{ id: 'refused', head: t('users.refused'), sort: 'server', isNumber: true },
      cell: ({ id, use }) =>
        use?.refused ? (
          <a href={hashOf('refusals', null, { [use.of.kind]: id })}>{number(use.refused)}</a>
        ) : (
          <span className="muted">0</span>
        ),
    },
  ]
}

function isFull(use: Line['use'], quota: QuotaResponse | null): boolean {
  return use?.worst != null && lacksRoom(use.worst, quota?.cheapest[use.worst.category])
}

interface WorstProps {
  readonly of: Line
  readonly quota: QuotaResponse | null
  readonly shadow: boolean
}

/** The window nearest to its limit: its bar, its name and how much of it is used. */
function Worst({ of: { use, standing }, quota, shadow }: WorstProps) {
  const { t, number, share, windowName } = useTexts()
  const worst = use?.worst ?? null
  if (worst === null) return <span className="muted">{t('users.noUsage')}</span>
  const { category, window, used, limit } = worst
  const name = `${category} ${windowName(window)}`
  return (
    <span className="worst" title={`${name}: ${t('now.gaugeText', { used: number(used), limit: number(limit) })}`}>
      <Bar
        {...{ used, limit }}
        label={name}
        shadow={shadow || standing?.state === 'exempt'}
        isFull={isFull(use, quota)}
      />
      <span className="worst-name">{name}</span>
      <span className="worst-share">{limit > 0 ? share(Math.floor((used / limit) * 100) / 100) : '0 / 0'}</span>
    </span>
  )
}

/** In the longest windows, and over the last days. */
function Tokens({ of: use }: { readonly of: Line['use'] }) {
  const { t, number } = useTexts()
  if (use === null) return null
  const { tokens, recent } = use
  const steps = recent?.steps ?? []
  const most = { most: number(Math.max(0, ...steps)), last: number(steps.at(-1) ?? 0) }
  return (
    <span className="used-tokens">
      {steps.some((step) => step > 0) && <Sparkline values={steps} label={t('users.spark', most)} />}
      {number(tokens)}
    </span>
  )
}

/** What only overrides of users have; `null` for none of a user. */
function ofUserIn(override: Line['override']) {
  return override !== null && 'bypassGlobal' in override ? override : null
}
