import type { audit as en } from '../en/audit.ts'
import type { Translated } from '../translated.ts'

export const audit: Translated<typeof en> = {
  'audit.title': '运行时更改',
  'audit.none': '运行时还没有更改。',
  'audit.forgotten': '已不再保留的更早更改：{count}。日志中有每一项。',
  'audit.when': '时间',
  'audit.who': '谁',
  'audit.what': '内容',
  'audit.why': '原因',
  'audit.settings': '设置',
  'audit.override': '特别设置：',
  'audit.overrides': '由文件写入的特别设置',
  'audit.reset': '清零：',
  'audit.organisation_override': '组织的特别设置：',
  'audit.quota_reset': '清空共用窗口：',
  'audit.token_created': '创建令牌：',
  'audit.token_revoked': '吊销令牌：',
}
