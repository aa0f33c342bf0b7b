import type { keys as en } from '../en/keys.ts'
import type { Translated } from '../translated.ts'

export const keys: Translated<typeof en> = {
  'keys.title': '全部访问密钥',
  'keys.create': '新访问密钥',
  'keys.name': '名称',
  'keys.nameHelp': '密钥的用途',
  'keys.expiry': '到期',
  'keys.make': '创建访问密钥',
  'keys.once': '请立即复制：访问密钥不会再次显示，网关只保存其哈希。',
  'keys.made': '{user} 的访问密钥',
  'keys.unknown': '如果列表中出现了您没有拿到的新访问密钥，请吊销它。',
  'keys.id': '编号（与审计中相同）',
  'keys.created': '创建时间',
  'keys.state': '状态',
  'keys.state.valid': '有效',
  'keys.state.expired': '已到期',
  'keys.state.revoked': '已吊销',
  'keys.revoke': '吊销',
  'keys.revokeOf': '吊销 {user} 的 {name}',
  'keys.revokeText': '各副本会在 2 秒内拒绝使用此访问密钥的请求。此操作无法撤销。',
  'keys.none': '还没有访问密钥。',
  'keys.search': '用户或名称',
  'keys.count': '访问密钥：{all} 个中的 {found} 个',
  'keys.noMatch': '没有匹配的访问密钥。',
  'keys.first': '访问密钥：{found} 个中的前 {shown} 个。请搜索以查找其余的。',
}
