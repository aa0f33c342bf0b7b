import type { routes as en } from '../en/routes.ts'
import type { Translated } from '../translated.ts'

export const routes: Translated<typeof en> = {
  'routes.title': '路由表',
  'routes.file': '按 {file} 中的顺序。命中数自副本启动以来计算。',
  'routes.match': '匹配',
  'routes.line': '行',
  'routes.cost': '价格（令牌数）',
  'routes.hits': '命中',
  'routes.notes': '备注',
  'routes.public': '公开',
  'routes.noHealth': '不计入自适应系数',
  'routes.shadow': '影子',
  'routes.free': '免费',
  'routes.unmatched': '没有匹配的请求',
  'routes.unmatched.refuse': '没有匹配规则的请求会被拒绝（404）。',
  'routes.unmatched.forward': '没有匹配规则的请求会被转发，不扣除。',
  'routes.unmatched.charge': '没有匹配规则的请求会被扣除并转发。',
  'routes.unmatchedHits': '{count} 个请求没有匹配规则。',
  'routes.latest': '其中最近的',
  'routes.none': '没有规则。',
}
