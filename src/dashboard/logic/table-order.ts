/** How a table is ordered, as the address has it: `order=tokens`, and `order=-tokens` the other way round. Pure. */

export interface TableOrder {
  /** Id of the column; `null` for the order in which the rows came. */
  readonly by: string | null
  /** The other way round than the column begins with. */
  readonly isReversed: boolean
}

export type SortValue = number | string | null

/** What the order has to know of a column. */
export interface Sortable<Row> {
  readonly id: string
  /** What the rows are sorted by, `null` last. `server` if the rows come in the order that was asked for. Default: the column has no order. */
  readonly sort?: ((row: Row) => SortValue) | 'server'
  /** Numbers begin with the greatest, texts with the first. Default false. */
  readonly isNumber?: boolean
  /** Whether a column that shows more than a number begins with the greatest too. Default false. */
  readonly isRanked?: boolean
}

/** @param written of the address; what names no column that has an order is the usual one */
export function orderOf<Row>(
  written: string | undefined,
  columns: readonly Sortable<Row>[],
  usual: string | null,
): TableOrder {
  const isReversed = written?.startsWith('-') === true
  const named = columns.find(({ id, sort }) => sort !== undefined && id === written?.slice(isReversed ? 1 : 0))
  return named === undefined ? { by: usual, isReversed: false } : { by: named.id, isReversed }
}

/** What the address is to have after a column was chosen: `null` for the usual order. */
export function afterChoosing<Row>(order: TableOrder, column: Sortable<Row>, usual: string | null): string | null {
  if (order.by === column.id && !order.isReversed) return `-${column.id}`
  return column.id === usual ? null : column.id
}

/** The value of `aria-sort`; `undefined` for a column that has no order. */
export function directionOf<Row>(
  { by, isReversed }: TableOrder,
  { id, sort, isNumber = false, isRanked = isNumber }: Sortable<Row>,
): 'ascending' | 'descending' | 'none' | undefined {
  if (sort === undefined) return undefined
  if (by !== id) return 'none'
  return isRanked === isReversed ? 'ascending' : 'descending'
}

/** The rows in the order of a column. Those alike keep their order. */
export function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
  order: TableOrder,
): readonly Row[] {
  const column = columns.find(({ id }) => id === order.by)
  if (column?.sort === undefined || column.sort === 'server') return rows
  const { sort } = column
  const sign = directionOf(order, column) === 'ascending' ? 1 : -1
  return rows
    .map((row) => ({ row, value: sort(row) }))
    .sort((a, b) => compareValues(a.value, b.value, sign))
    .map(({ row }) => row)
}

function compareValues(a: SortValue, b: SortValue, sign: 1 | -1): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
  return sign * String(a).localeCompare(String(b))
}
