import { afterEach, expect, test } from 'vitest'
import { speak } from '../../src/dashboard/i18n/text.ts'
import { planIn, sourceWords } from '../../src/dashboard/logic/source-words.ts'
import { stepWords } from '../../src/dashboard/logic/step-words.ts'

afterEach(() => speak('en'))

test.each([
  ['baseline 1200 (tollgate.yaml:22)', 'Baseline: 1,200 (tollgate.yaml:22)', '基线：1,200（tollgate.yaml:22）'],
  ['custom 5', 'Custom value: 5', '自定义值：5'],
  ['plan team: 20', 'Plan team: 20', '套餐 team：20'],
  ['plan team (a.yaml:3): 20, by default', 'Plan team, by default: 20 (a.yaml:3)', '默认套餐 team：20（a.yaml:3）'],
  [
    'plan bot: 1, by override (a trial)',
    'Plan bot, by the override: 1 (a trial)',
    '特别设置指定的套餐 bot：1（a trial）',
  ],
  ['mode loose x 1.5', 'Mode Loose: × 1.5', '宽松模式：× 1.5'],
  ['multiplier x 0.25', 'Global multiplier: × 0.25', '全局倍数：× 0.25'],
  ['rounded to 187', 'Rounded to 187', '取整为 187'],
  ['override 0 (too (much))', 'Override: 0 (too (much))', '特别设置：0（too (much)）'],
  ['override of the organisation: 40', 'Override of the organisation: 40', '组织的特别设置：40'],
  [
    'reserve: 240 of 1200 are kept for known users',
    'Kept for known users: 240 of 1,200',
    '为已知用户保留：1,200 中的 240',
  ],
  ['months begin with day 17: plan late', 'Months begin with day 17: plan late', '每月从 17 日起：套餐 late'],
  ['months begin with day 1: the credential', 'Months begin with day 1: the credential', '每月从 1 日起：凭据'],
  [
    'months begin with day 31: override (a contract)',
    'Months begin with day 31: the override (a contract)',
    '每月从 31 日起：特别设置（a contract）',
  ],
  [
    'months begin with day 31: override of the organisation (a (new) contract)',
    'Months begin with day 31: the override of the organisation (a (new) contract)',
    '每月从 31 日起：组织的特别设置（a (new) contract）',
  ],
  ['a layer of a newer gateway', 'a layer of a newer gateway', 'a layer of a newer gateway'],
])('the step “%s” of a limit is said in the words of the page', async (step, english, chinese) => {
  expect(stepWords(step)).toBe(english)
  await speak('zh')
  expect(stepWords(step)).toBe(chinese)
})

test('what made a limit is said in the words of the page', async () => {
  expect(sourceWords('override of organisation')).toBe('organisation override')
  await speak('zh')
  expect(sourceWords('baseline x mode x multiplier')).toBe('基线 × 模式 × 全局倍数')
  expect(sourceWords('plan team - reserve')).toBe('套餐 team，减去保留部分')
})

test('the plan that made a limit is known by what made the limit', () => {
  expect(planIn('plan team x mode')).toBe('team')
  expect(planIn('plan team - reserve')).toBe('team')
  expect(planIn('override of organisation')).toBeUndefined()
})
