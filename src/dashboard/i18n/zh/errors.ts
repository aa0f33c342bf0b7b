import type { errors as en } from '../en/errors.ts'
import type { Translated } from '../translated.ts'

export const errors: Translated<typeof en> = {
  'chart.title': '最近 7 天的上游错误',
  'chart.text': '转发失败的请求，每半小时一条。时间为浏览器时区；可悬停或用方向键查看；点击或按回车打开日志筛选。',
  'chart.label': '上游错误图：方向键逐个半小时移动，Page Up 与 Page Down 移动一天，回车打开日志筛选',
  'chart.status0': '无响应（日志中状态为 0）',
  'chart.status5xx': '上游返回 5xx',
  'chart.status0Short': '无响应',
  'chart.status5xxShort': '5xx',
  'chart.total': '已转发',
  'chart.value': '{local}：{status0} 个无响应，{status5xx} 个 5xx，共转发 {total}',
  'chart.local': '本地',
  'chart.utc': 'UTC',
  'chart.sum': '7 天内：{status0} 个无响应，{status5xx} 个 5xx，共转发 {total}。',
  'chart.table': '以表格显示',
  'chart.onlyFailed': '只显示有失败的半小时',
  'chart.start': '半小时',
  'chart.noFailures': '这 7 天没有失败。',
  'chart.filter': '日志筛选',
  'chart.filterText': '从网关的 JSON 日志中取出这半小时内失败的请求（请把 tollgate.log 换成您的日志文件名）：',
  'chart.latest': '这半小时仍在统计中。',
}
