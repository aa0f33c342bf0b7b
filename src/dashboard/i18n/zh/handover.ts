import type { handover as en } from '../en/handover.ts'
import type { Translated } from '../translated.ts'

export const handover: Translated<typeof en> = {
  'handover.title': '您的访问密钥',
  'handover.text': '有人为您创建了访问密钥。此链接只显示一次密钥，请先准备好安全的保存位置。',
  'handover.open': '显示密钥',
  'handover.once': '请立即复制密钥：此链接不会再次显示它。请像密码一样妥善保管。',
}
