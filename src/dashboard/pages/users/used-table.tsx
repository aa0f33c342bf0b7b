import type { QuotaResponse, StandingResponse } from '../../../contract/api.ts'
import { lacksRoom } from '../../../quota/window.ts'
import { useQuota } from '../../api/session.tsx'
import { minute, number, share, t, time, windowName } from '../../i18n/text.ts'
import type { Kind } from '../../logic/list-filter.ts'
import { hashOf } from '../../logic/location.ts'
import { isBlock } from '../../logic/quick-override.ts'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { Bar, Name, Tag, WayTo } from '../../ui/small.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import type { Line } from './line.ts'
import { RowActions } from './row-actions.tsx'

/** Nearest to a limit first. */
export const USUAL_ORDER = 'use'

interface UsedTableProps {
  readonly kind: Kind
  readonly lines: readonly Line[]
  /** The text if there is no row. */
  readonly none?: string
  /** Whether the gateway's shadow mode lets everybody through. */
  readonly shadow: boolean
  /** The organisation, if the list has only its users. */
  readonly organisation?: string | undefined
  /** Reads the list again. */
  readonly read?: () => Promise<void>
}

/** A row with one line for each owner, in the order of the page. */
export function UsedTable({ kind, lines, none, shadow, organisation, read }: UsedTableProps) {
  const quota = useQuota()
  /** Whether usage is known, which it is not while the store is out. */
  const isUseKnown = lines.some(({ use }) => use !== null)
  const isUsers = kind === 'users'
  const hasOrganisation = isUsers && organisation === undefined && lines.some((line) => line.organisation !== undefined)
  return (
    <DataTable<Line>
      look="dense"
      label={t(`page.${kind}`)}
      columns={[
        {
          ...{ id: 'name', head: t(isUsers ? 'word.user' : 'word.organisation'), sort: 'server' },
          cell: ({ id }) => <WayTo page={kind} id={id} />,
        },
        { id: 'state', head: t('word.state'), width: '12.5rem', cell: (line) => <State of={line} shadow={shadow} /> },
        isUseKnown &&
          quota?.effective.plans !== undefined && {
            ...{ id: 'plan', head: t(isUsers ? 'override.plan' : 'plans.title'), sort: 'server' },
            ...{ isWideOnly: true, width: '5.75rem' },
            cell: ({ plans }) => plans.length > 0 && <Name of={plans.join(', ')} />,
          },
        hasOrganisation && {
          ...{ id: 'organisation', head: t('word.organisation'), sort: 'server', isWideOnly: true, width: '6.75rem' },
          cell: (line) => line.organisation !== undefined && <WayTo page="organisations" id={line.organisation} />,
        },
        !isUsers &&
          counted<Line>('users', t('page.users'), ({ users = 0 }) => users, { sort: 'server', width: '4.75rem' }),
        ...(isUseKnown ? usageColumns(quota, shadow) : []),
        read !== undefined && {
          ...{ id: 'actions', head: '' },
          cell: (line) => line.use !== null && <RowActions line={line} of={line.use.of} read={read} />,
        },
      ]}
      rows={lines}
      {...(none !== undefined && { none })}
      keyOf={({ id }) => id}
      usual={USUAL_ORDER}
    />
  )
}

/** Whether requests are refused and by which scope, and marks of the override. */
function State({ of: line, shadow }: { readonly of: Line } & Pick<UsedTableProps, 'shadow'>) {
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
}

function StateTag({ of: line }: { readonly of: Line }) {
  const { standing, blocked } = line
  if (standing?.state === 'exempt') return <Tag tone="info">{t('users.exempt')}</Tag>
  if (standing?.grants !== undefined)
    return <Tag tone="warn">{t('users.granted', { left: number(standing.grants.left) })}</Tag>
  if (standing?.by == null)
    return blocked && <Tag tone="bad">{t(isBlocked(line) ? 'users.isBlock' : 'users.blocked')}</Tag>
  return <Tag tone={standing.state === 'shadow' ? 'warn' : 'bad'}>{refusedBy(line, standing.by)}</Tag>
}

function refusedBy(line: Line, { scope, category }: NonNullable<StandingResponse['by']>): string {
  if (scope === 'Global') return t('users.globalFull', { categories: category })
  if (scope === 'Organisation') return t('users.organisationFull')
  return t(isBlocked(line) ? 'users.isBlock' : 'users.blocked')
}

function isBlocked({ override, use }: Line): boolean {
  return isBlock(override, use?.of.windows ?? {})
}

function usageColumns(quota: QuotaResponse | null, shadow: boolean): readonly Column<Line>[] {
  const soon = (at: string | null | undefined) =>
    at == null ? <span className="muted">–</span> : <time dateTime={at}>{minute(new Date(at))}</time>
  return [
    {
      ...{ id: 'use', head: t('users.fullest'), sort: 'server', isRanked: true, width: '13.5rem' },
      cell: (line) => <Worst of={line} quota={quota} shadow={shadow || ofUserIn(line.override)?.shadow === true} />,
    },
    {
      ...{ id: 'reset', head: t('users.resets'), sort: 'server', isWideOnly: true, width: '6rem' },
      cell: ({ use }) => soon(use?.worst?.resetAt),
    },
    {
      ...{ id: 'full', head: t('users.fullAt'), sort: 'server', isWideOnly: true, width: '4.75rem' },
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
      ...{ id: 'tokens', head: t('history.tokens'), sort: 'server', isNumber: true, width: '7.5rem' },
      cell: ({ use }) => <Tokens of={use} />,
    },
    {
      ...{ id: 'refused', head: t('users.refused'), sort: 'server', isNumber: true, width: '4.75rem' },
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

/** The window nearest to its limit: bar, name, and how much is used. */
function Worst({ of: { use, standing }, quota, shadow }: WorstProps) {
  const worst = use?.worst ?? null
  if (worst === null) return <span className="muted">{t('users.noUsage')}</span>
  const { category, window, used, limit } = worst
  const name = `${category} ${windowName(window)}`
  return (
    <span className="worst" title={`${name}: ${t('now.gaugeText', { used: number(used), limit: number(limit) })}`}>
      <Bar
        {...{ used, limit }}
        label={name}
        shadow={shadow || standing?.state === 'exempt' || standing?.state === 'granted'}
        isFull={isFull(use, quota)}
      />
      <span className="worst-name">{name}</span>
      <span className="worst-share">{limit > 0 ? share(Math.floor((used / limit) * 100) / 100) : '0 / 0'}</span>
    </span>
  )
}

/** Tokens in the longest windows, and over the last days. */
function Tokens({ of: use }: { readonly of: Line['use'] }) {
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

/** The part that only overrides of users have; `null` if there is none. */
function ofUserIn(override: Line['override']) {
  return override !== null && 'bypassGlobal' in override ? override : null
}
