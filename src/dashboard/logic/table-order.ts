/** The order of a table, from the address: `order=tokens`, or `order=-tokens` reversed. Pure. */

export interface TableOrder {
  /** Id of the column; `null` for the original order of the rows. */
  readonly by: string | null
  /** Reversed from the column's first order. */
  readonly isReversed: boolean
}

export type SortValue = number | string | null

/** What the order needs to know about a column. */
export interface Sortable<Row> {
  readonly id: string
  /** The value to sort by, `null` last; `server` for rows that come in the requested order. Default: not sortable. */
  readonly sort?: ((row: Row) => SortValue) | 'server'
  /** Numbers begin with the greatest, texts with the first one. Default false. */
  readonly isNumber?: boolean
  /** Whether the column begins with the greatest, which one that shows more than a number may do too. Default as `isNumber`. */
  readonly isRanked?: boolean
}

/** @param written in the address. A text that names no sortable column means the usual order */
export function orderOf<Row>(
  written: string | undefined,
  columns: readonly Sortable<Row>[],
  usual: string | null,
): TableOrder {
  const isReversed = written?.startsWith('-') === true
  const named = columns.find(({ id, sort }) => sort !== undefined && id === written?.slice(isReversed ? 1 : 0))
  return named === undefined ? { by: usual, isReversed: false } : { by: named.id, isReversed }
}

/** The field of the address after a column was chosen: `null` for the usual order. */
export function afterChoosing<Row>(order: TableOrder, column: Sortable<Row>, usual: string | null): string | null {
  if (order.by === column.id && !order.isReversed) return `-${column.id}`
  return column.id === usual ? null : column.id
}

/** The value of `aria-sort`; `undefined` for a column that cannot be sorted. */
export function directionOf<Row>(
  { by, isReversed }: TableOrder,
  { id, sort, isNumber = false, isRanked = isNumber }: Sortable<Row>,
): 'ascending' | 'descending' | 'none' | undefined {
  if (sort === undefined) return undefined
  if (by !== id) return 'none'
  return isRanked === isReversed ? 'ascending' : 'descending'
}

/** The rows in the order of a column. Equal rows keep their order. */
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
