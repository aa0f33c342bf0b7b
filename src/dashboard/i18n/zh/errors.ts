import type { errors as en } from '../en/errors.ts'
import type { Translated } from '../translated.ts'

export const errors: Translated<typeof en> = {
  'chart.title': '最近 7 天的上游错误',
  'chart.text': '转发失败的请求，每半小时一条。时间为浏览器时区；可悬停或用方向键查看；点击或按回车打开日志筛选。',
  'chart.status0Short': '无响应',
  'chart.status5xxShort': '5xx',
  'chart.total': '已转发',
  'chart.filter': '日志筛选',
  'chart.filterText': '从网关的 JSON 日志中取出这半小时内失败的请求（请把 tollgate.log 换成您的日志文件名）：',
}
