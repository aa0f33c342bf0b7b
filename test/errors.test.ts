import { expect, test } from 'vitest'
import { unreadable } from '../src/errors.ts'

test('a file that cannot be read for want of open files is not blamed on its path', () => {
  expect(unreadable('EACCES')).toBe('cannot be read (EACCES): check the path and the permissions')
  expect(unreadable('EMFILE')).toContain('raise the limit')
  expect(unreadable('ENFILE')).toContain('raise the limit')
})
