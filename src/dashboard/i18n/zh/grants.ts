import type { grants as en } from '../en/grants.ts'
import type { Translated } from '../translated.ts'

/** 用户或组织的额外额度。 */
export const grants: Translated<typeof en> = {
  'grants.title': '额外额度',
  'grants.text': '一次性发放额外额度。某个窗口容不下请求时，由额外额度支付该请求的全部费用，窗口保持不变。',
  'grants.none': '没有发放过额外额度。',
  'grants.id': '发放',
  'grants.taken': '已用',
  'grants.takenOf': '{taken} / {tokens}',
  'grants.until': '有效至',
  'grants.state.live': '可用',
  'grants.state.empty': '已用完',
  'grants.state.over': '已过期',
  'grants.state.ended': '已被终止',
  'grants.expiry': '结束时间',
  'grants.reason': '额度用途',
  'grants.give': '发放额度',
  'grants.given': '额度已发放，所有副本会在 2 秒内知道。',
  'grants.problem.tokens': '请输入 1 到 1000000000000 的整数，不要逗号。',
  'grants.end': '终止',
  'grants.endOf': '终止 {name} 的额外额度',
  'grants.endText': '剩余的 {left} 额度将不再支付任何请求。已用的额度保留在用量中。',
}
