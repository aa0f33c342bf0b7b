export const tables = {
  'table.orderBy': 'Order by {column}',
} as const
