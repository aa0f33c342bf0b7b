import { expect, test } from 'vitest'
import { wholeSentence } from '../../src/dashboard/logic/whole-sentence.ts'

test.each([
  ['admin removed the override of bob:', 'admin removed the override of bob.'],
  ['admin emptied the windows of read. They had used:', 'admin emptied the windows of read.'],
  ['admin 将 read 的全局窗口清零，清零前已用：', 'admin 将 read 的全局窗口清零。'],
  ['admin 取消了 bob 的特别设置：', 'admin 取消了 bob 的特别设置。'],
  ['admin set the mode: loose.', 'admin set the mode: loose.'],
])('«%s» without its list is «%s»', (text, whole) => {
  expect(wholeSentence(text)).toBe(whole)
})
