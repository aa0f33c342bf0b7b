import { expect, test } from 'vitest'
import { attachment } from '../../src/admin/attachment.ts'

test.each([
  ['acme-2026-11', 'filename="acme-2026-11.csv"'],
  ['../a"b\r\nc', 'filename="__a_b_c.csv"'],
  ['a\ud800', 'filename="a_.csv"'],
  ['--x', 'filename="_x.csv"'],
  ['é用户 1', `filename="__1.csv"; filename*=UTF-8''%C3%A9%E7%94%A8%E6%88%B7_1.csv`],
  ['ผู้ใช้', `filename="_.csv"; filename*=UTF-8''${encodeURIComponent('ผู้ใช้')}.csv`],
  ['𠮷'.repeat(100), `filename="_.csv"; filename*=UTF-8''${'%F0%A0%AE%B7'.repeat(60)}.csv`],
])('the response for %j is saved as a file by %s', (name, header) => {
  expect(attachment(name, 'csv')).toEqual({ 'content-disposition': `attachment; ${header}` })
})
