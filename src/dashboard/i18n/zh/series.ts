import type { series as en } from '../en/series.ts'
import type { Translated } from '../translated.ts'

export const series: Translated<typeof en> = {
  'range.label': '时间范围',
  'range.1h': '1 小时',
  'range.6h': '6 小时',
  'range.24h': '24 小时',
  'range.7d': '7 天',
  'series.keys': '方向键逐段移动，Page Up 与 Page Down 移动一天',
  'series.keysOpen': '方向键逐段移动，Page Up 与 Page Down 移动一天，回车：{open}',
  'series.latest': '仍在统计中',
  'series.sums': '自 {from} 起：{sums}',
  'series.table': '以表格显示',
  'series.step': '时间',
  'series.onlySome': '隐藏没有计数的时段',
  'series.nothing': '此范围内没有计数。',
}
