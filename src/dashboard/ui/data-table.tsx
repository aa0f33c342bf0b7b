import type { CSSProperties, ReactNode } from 'react'
import { number, t } from '../i18n/text.ts'
import {
  afterChoosing,
  directionOf,
  orderOf,
  type Sortable,
  sortedRows,
  type TableOrder,
} from '../logic/table-order.ts'
import { lookFor, useFields } from './address.tsx'
import './data-table.css'

/** A column of a table. The first one names its row. */
export interface Column<Row> extends Sortable<Row> {
  readonly head: string
  /** Shown beside the name in the head. Default nothing. */
  readonly headMore?: ReactNode
  readonly cell?: (row: Row) => ReactNode
  /** A number to show instead of a cell; `null` is shown as a dash. */
  readonly count?: (row: Row) => number | null
  /** Whether the column is only shown in a wide window. Default false. */
  readonly isWideOnly?: boolean
  /** The width in a dense table, in CSS. Default by its content. */
  readonly width?: string
}

/** A sortable column of numbers. */
export function counted<Row>(
  id: string,
  head: string,
  count: (row: Row) => number,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { id, head, count, sort: count, isNumber: true, ...more }
}

function countText(of: number | null): string {
  return of === null ? '–' : number(of)
}

interface DataTableProps<Row> {
  readonly label: string
  /** Columns that are `false` are left out. */
  readonly columns: readonly (Column<Row> | false)[]
  readonly rows: readonly Row[]
  /** The text in place of a table without rows. Default an empty table. */
  readonly none?: string
  readonly keyOf: (row: Row) => string
  /** How many rows are shown, from the first one. Default all. */
  readonly most?: number
  /** The order without one in the address: a column, or `null` for the original order. Default `null`. */
  readonly usual?: string | null
  /** The field of the address with the order. Default `order`. */
  readonly field?: string
  /**
   * `dense`: each row has one line, and the heads stay visible. `lines`: one line if there is room. `small`: rows are no cards in a narrow
   * window, because they have few short cells and no order. Default none of these.
   */
  readonly look?: 'dense' | 'lines' | 'small'
}

/**
 * A table whose heads are buttons that sort it, if their columns can be sorted; the address has the order. In a narrow window rows
 * are cards, with the heads above them.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, keyOf, most, none, usual = null, field = 'order', look = '' } = props
  const columns = props.columns
    .filter((each) => each !== false)
    .map((each) => (each.count === undefined ? each : { ...each, isNumber: true }))
  const order = orderOf(useFields()[field], columns, usual)
  const choose = (column: Column<Row>) => lookFor({ [field]: afterChoosing(order, column, usual) })
  if (rows.length === 0 && none !== undefined) {
    return (
      <p role="status" className="muted">
        {none}
      </p>
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className={`rows ${look === 'small' ? '' : 'data-table'} ${look}`} aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} order={order} onChoose={() => choose(column)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sortedRows(rows, columns, order)
            .slice(0, most)
            .map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column, i) => (
                  <Cell key={column.id} column={column} row={row} isFirst={i === 0} />
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  )
}

interface HeadProps<Row> {
  readonly column: Column<Row>
  readonly order: TableOrder
  readonly onChoose: () => void
}

function Head<Row>({ column, order, onChoose }: HeadProps<Row>) {
  const direction = directionOf(order, column)
  const sortable = direction !== undefined
  return (
    <th
      scope="col"
      data-column={column.id}
      className={classOf(column, sortable ? 'sortable' : '')}
      aria-sort={direction}
      style={column.width === undefined ? undefined : ({ '--width': column.width } as CSSProperties)}
    >
      {sortable ? (
        <button type="button" title={t('table.orderBy', { column: column.head })} onClick={onChoose}>
          {column.head}
          <span aria-hidden="true">{ARROWS[direction]}</span>
        </button>
      ) : (
        column.head
      )}
      {column.headMore}
    </th>
  )
}

const ARROWS = { ascending: '▲', descending: '▼', none: '' } as const

interface CellProps<Row> extends Pick<HeadProps<Row>, 'column'> {
  readonly row: Row
  readonly isFirst: boolean
}

function Cell<Row>({ column, row, isFirst }: CellProps<Row>) {
  const shown = column.count === undefined ? column.cell?.(row) : countText(column.count(row))
  if (isFirst) {
    return (
      <th scope="row" className={classOf(column)}>
        {shown}
      </th>
    )
  }
  return (
    <td className={classOf(column)} data-head={column.head} data-column={column.id}>
      {shown}
    </td>
  )
}

function classOf<Row>({ isNumber, isWideOnly }: Column<Row>, more = ''): string {
  return [isNumber && 'num', isWideOnly && 'wide-only', more].filter(Boolean).join(' ')
}
