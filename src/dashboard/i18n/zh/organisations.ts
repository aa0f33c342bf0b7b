import type { organisations as en } from '../en/organisations.ts'
import type { Translated } from '../translated.ts'

export const organisations: Translated<typeof en> = {
  'organisations.search': '搜索组织',
  'organisations.searchHelp': '组织 ID 的一部分。',
  'organisations.none': '没有匹配的已知组织。',
  'organisations.nobody': '还没有已知组织：凭证指明组织的用户第一次被扣除额度后，该组织就会出现。',
  'organisations.withOverride': '有特别设置的组织：{total}。还有哪些组织用过、用了多少，只有存储知道。',
  'organisations.openHelp': '用户尚未用过配额的组织也可以有特别设置。',
  'organisations.back': '所有组织',
  'organisations.dots': '“.” 和 “..” 不是组织 ID。',
  'organisations.noLimits': '没有套餐或特别设置限制此组织。',
  'organisations.windowsText': '其用户合计的用量。只有特别设置或用户的套餐限制该组织时，请求才计入此处。',
  'organisations.status.room': '组织的窗口都有余量。其用户仍可能因个人或全局上限被拒绝。',
  'organisations.status.ofPlan': '套餐为 {plan} 的用户被拒绝。',
  'organisations.members': '组织的用户',
  'organisations.members.none': '没有此组织的已知用户。有套餐或特别设置限制组织之后，才会按组织记录用户。',
  'organisations.refusals.none': '最近 7 天此组织的上限没有拒绝过请求。',
  'organisations.refusals.all': '此组织的所有拒绝',
  'organisations.refusals.at': '其用户为何在此时被拒绝',
  'organisations.reset': '清空此组织的窗口：已用的不再计算。其用户的窗口和全局窗口的计数保留。',
  'organisations.override.none': '没有特别设置：此组织由其用户的套餐限制。',
  'organisations.override.limits': '组织上限',
  'organisations.override.limitsText':
    '组织所有用户合计在每个窗口的额度，在任何模式下、对任何套餐直接替换上限。留空则按套餐，1000 + 200 表示超过 1,000 后还可再用 200，unlimited 表示该窗口无上限。',
  'organisations.override.factorText': '将上限乘以 0 到 100 之间的系数。上面未设置时，乘以各成员套餐给组织的上限。',
  'organisations.override.removeText': '此组织的所有上限将在 2 秒内在所有副本上恢复为套餐的值。',
  'organisations.override.blocks': '{category} {window}：已用 {used}，因此该组织在窗口结束前将受阻。',
  'organisations.override.blocksLater':
    '{category} {window}：已用 {used}，上限 {limit}。影子模式已开启，不拒绝任何请求；关闭后该组织将受阻。',
  'organisations.override.blocksAll': '{category} {window}：上限 {limit} 容不下任何请求，因此该组织将受阻。',
  'organisations.otherPlans': '其已知用户都没有的套餐的上限（{count}）',
}
