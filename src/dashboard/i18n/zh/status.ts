import type { status as en } from '../en/status.ts'
import type { Translated } from '../translated.ts'

export const status: Translated<typeof en> = {
  'status.title': '当前被拒绝的用户',
  'status.nobody': '目前没有用户被拒绝。',
  'status.nobodyBefore': '上次询问网关时没有用户被拒绝。',
  'status.full': '所有用户的 {category} 请求都返回 429：全局窗口 {window} 已用完。',
  'status.nearlyFull': '全局窗口 {category} {window} 只剩 {remaining} 额度：{route} 的请求需要 {cost}，返回 429。',
  'status.until': '结束时间：',
  'status.user': '最近 5 分钟有 {count} 位用户因个人上限收到 429。',
  'status.users': '最近 5 分钟有 {count} 位用户因个人上限收到 429。',
  'status.organisation': '最近 5 分钟有 {count} 个组织的成员因组织上限收到 429。',
  'status.organisations': '最近 5 分钟有 {count} 个组织的成员因组织上限收到 429。',
  'status.who': '查看用户与原因',
  'status.change': '更改设置',
  'status.failing': '最近一分钟已转发的请求中有 {share} 在上游失败。',
  'status.errors': '查看何处出错、何时开始',
  'status.more': '展开',
  'status.less': '收起',
  'status.shadow': '影子模式已开启：无论用量多少，都不会返回 429。',
  'status.notMade': '计划于 {time} 进行的更改未能完成。',
  'status.takenBack': '{time} 有更改被守护规则撤回：被拒绝的请求过多。',
  'status.audit': '查看审计',
  'status.storeOut': '存储无法扣除额度。',
}
