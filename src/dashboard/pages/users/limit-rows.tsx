import type { ReactNode } from 'react'
import type { LimitInForceResponse, LimitResponse } from '../../../contract/api.ts'
import { number, t } from '../../i18n/text.ts'
import { limitName } from '../../logic/limit-words.ts'
import { sourceWords } from '../../logic/source-words.ts'
import { stepWords } from '../../logic/step-words.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Bar, Tag } from '../../ui/small.tsx'

export interface Row extends LimitInForceResponse {
  /** `null` if unknown. */
  readonly usage: Pick<LimitResponse, 'used' | 'resetAt'> | null
  readonly category?: string
  readonly refuses?: boolean
  readonly lacksRoom?: boolean
  /** Only users with this plan have the limit. Default everybody. */
  readonly plan?: string
}

/** A limit in the form of the API, with its usage. */
export function rowOf<T extends LimitResponse>(limit: T): T & Pick<Row, 'usage'> {
  return { ...limit, usage: limit }
}

interface WindowsPanelProps {
  readonly text: string
  /** The text if there is no window. */
  readonly none: string
  readonly shown: readonly Row[]
  /** Rows that are folded below the others, unless `isOpen`, and their heading. */
  readonly others: readonly Row[]
  readonly summary: string
  readonly isOpen: boolean
  readonly shadow: boolean
  /** Content above the rows. Default none. */
  readonly children?: ReactNode
}

/** The windows of a user or an organisation. */
export function WindowsPanel({ text, none, shown, others, summary, isOpen, shadow, children }: WindowsPanelProps) {
  return (
    <Panel title={t('users.windows')} text={text}>
      {children}
      {shown.length + others.length === 0 && <p className="muted">{none}</p>}
      {shown.length > 0 && <LimitRows label={t('users.windows')} limits={fullestFirst(shown)} shadow={shadow} />}
      {others.length > 0 && (
        <details open={isOpen}>
          <summary>{summary}</summary>
          <LimitRows label={summary} limits={others} shadow={shadow} />
        </details>
      )}
    </Panel>
  )
}

/** Windows nearest to their limit come first. */
function fullestFirst(rows: readonly Row[]): readonly Row[] {
  const part = ({ usage, limit }: Row) => (usage?.used ?? 0) / Math.max(limit, 0.5)
  return rows.toSorted((a, b) => part(b) - part(a))
}

interface LimitRowsProps {
  readonly label: string
  readonly limits: readonly Row[]
  /** Whether nothing is refused to this user. */
  readonly shadow: boolean
}

/** Windows with their usage and the layers that made their limits. */
export function LimitRows({ label, limits, shadow }: LimitRowsProps) {
  const columns: readonly Column<Row>[] = [
    { id: 'window', head: t('word.window'), cell: (row) => <Window of={row} shadow={shadow} /> },
    { id: 'used', head: t('word.used'), cell: (row) => <Used of={row} shadow={shadow} /> },
    {
      ...{ id: 'limit', head: t('word.limit') },
      cell: ({ limit, over }) => (
        <span>
          {number(limit)}
          {over !== undefined && <span className="muted"> {t('word.over', { over: number(over) })}</span>}
        </span>
      ),
    },
    {
      ...{ id: 'reset', head: t('word.reset') },
      cell: ({ usage }) => (usage === null ? t('users.unknown') : <Ends at={usage.resetAt} />),
    },
    { id: 'source', head: t('users.source'), cell: (row) => <Source {...row} /> },
  ]
  const keyOf = (row: Row) => `${limitName(row)} ${row.plan}`
  return <DataTable label={label} columns={columns} rows={limits} keyOf={keyOf} />
}

interface OfRow {
  readonly of: Row
  readonly shadow: boolean
}

function Window({ of: row, shadow }: OfRow) {
  const tone = shadow ? 'warn' : 'bad'
  return (
    <>
      {limitName(row)} {row.refuses && <Tag tone={tone}>{t(shadow ? 'explain.wouldRefuse' : 'explain.refuses')}</Tag>}
      {row.lacksRoom && <Tag tone={tone}>{t('users.blocked')}</Tag>}
    </>
  )
}

function Used({ of: row, shadow }: OfRow) {
  const { usage, limit, lacksRoom, refuses } = row
  if (usage === null) return t('users.unknown')
  return (
    <div className="used">
      {number(usage.used)}
      <Bar {...{ used: usage.used, limit, shadow }} label={limitName(row)} isFull={(lacksRoom ?? refuses) === true} />
    </div>
  )
}

/** The layers that made a limit, each with its value. */
function Source({ source, steps }: Pick<Row, 'source' | 'steps'>) {
  if (steps.length === 0) return sourceWords(source)
  return (
    <details>
      <summary>{sourceWords(source)}</summary>
      <ol>
        {steps.map((step) => (
          <li key={step}>{stepWords(step)}</li>
        ))}
      </ol>
    </details>
  )
}

function Ends({ at }: { readonly at: string | null }) {
  return at === null ? <span className="muted">{t('now.notRunning')}</span> : <Moment at={at} />
}
