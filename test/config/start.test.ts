import { expect, test, vi } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'

const TEXT = 'upstream: { url: http://127.0.0.1:9000 }\ntime_zone: Asia/Shanghai\n'

test('a start compiles no parser for its file, and does not ask Intl for the default time zone', () => {
  const compiled = vi.spyOn(globalThis, 'Function')
  const asked = vi.spyOn(Intl, 'DateTimeFormat')
  expect(parseConfig(TEXT, 'tollgate.yaml', {})).toMatchObject({ ok: true, config: { timeZone: 'Asia/Shanghai' } })
  expect(compiled).not.toHaveBeenCalled()
  expect(asked).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})
