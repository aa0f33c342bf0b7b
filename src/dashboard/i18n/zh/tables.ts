import type { tables as en } from '../en/tables.ts'
import type { Translated } from '../translated.ts'

export const tables: Translated<typeof en> = {
  'table.orderBy': '按“{column}”排序',
}
