import type { keys as en } from '../en/keys.ts'
import type { Translated } from '../translated.ts'

export const keys: Translated<typeof en> = {
  'tokens.title': '网关令牌',
  'tokens.create': '新令牌',
  'tokens.owner': '使用其配额的用户',
  'tokens.what': '名称',
  'tokens.whatHelp': '令牌的用途。',
  'tokens.expiry': '到期',
  'tokens.make': '创建令牌',
  'tokens.once': '请立即复制：只显示这一次，系统只保存其哈希。',
  'tokens.made': '{user} 的令牌',
  'tokens.unknown': '如果列表中出现了您没有拿到的令牌，它已无用：请吊销它。',
  'tokens.id': '编号（与审计中相同）',
  'tokens.created': '创建时间',
  'tokens.state': '状态',
  'tokens.good': '有效',
  'tokens.expired': '已到期',
  'tokens.revoked': '已于 {time} 吊销',
  'tokens.revoke': '吊销',
  'tokens.revokeOf': '吊销 {user} 的 {name}',
  'tokens.revokeText': '使用此令牌的请求将在 2 秒内在所有副本上被拒绝。无法撤回。',
  'tokens.none': '还没有创建网关令牌。',
  'tokens.filter': '按用户或名称筛选',
  'tokens.noMatch': '没有匹配的令牌。',
  'tokens.first': '只显示 {found} 个令牌中的前 {shown} 个：请筛选以查找其余的。',
}
