import type { keys as en } from '../en/keys.ts'
import type { Translated } from '../translated.ts'

export const keys: Translated<typeof en> = {
  'tokens.title': '全部访问密钥',
  'tokens.create': '新访问密钥',
  'tokens.owner': '密钥的用户',
  'tokens.what': '名称',
  'tokens.whatHelp': '访问密钥的用途。',
  'tokens.expiry': '到期',
  'tokens.make': '创建访问密钥',
  'tokens.once': '请立即复制：只显示这一次，系统只保存其哈希。',
  'tokens.made': '{user} 的访问密钥',
  'tokens.unknown': '如果列表中出现了您没有拿到的访问密钥，它已无用：请吊销它。',
  'tokens.id': '编号（与审计中相同）',
  'tokens.created': '创建时间',
  'tokens.state': '状态',
  'tokens.good': '有效',
  'tokens.expired': '已到期',
  'tokens.revoked': '已于 {time} 吊销',
  'tokens.revoke': '吊销',
  'tokens.revokeOf': '吊销 {user} 的 {name}',
  'tokens.revokeText': '使用此访问密钥的请求将在 2 秒内在所有副本上被拒绝。无法撤回。',
  'tokens.none': '还没有创建访问密钥。',
  'tokens.filter': '按用户或名称筛选',
  'tokens.noMatch': '没有匹配的访问密钥。',
  'tokens.first': '只显示 {found} 个访问密钥中的前 {shown} 个：请筛选以查找其余的。',
}
