import { expect, test } from 'vitest'
import { unreadable } from '../src/errors.ts'

test('why a file cannot be read is not looked for at the file where it is not there', () => {
  expect(unreadable('EACCES')).toBe('cannot be read (EACCES): check the path and the permissions')
  expect(unreadable('EMFILE')).toContain('raise the limit')
  expect(unreadable('ENFILE')).toContain('raise the limit')
})
