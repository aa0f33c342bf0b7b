import { expect, test, vi } from 'vitest'
import { parseTimeZone, TIME_ZONE } from '../../src/config/time-zone.ts'

test('the zone that a file need not name is taken without a question to Intl', () => {
  const asked = vi.spyOn(Intl, 'DateTimeFormat')
  expect(parseTimeZone(TIME_ZONE)).toEqual({ value: TIME_ZONE })
  expect(asked).not.toHaveBeenCalled()
  asked.mockRestore()
  expect(() => new Intl.DateTimeFormat('en', { timeZone: TIME_ZONE })).not.toThrow()
})
