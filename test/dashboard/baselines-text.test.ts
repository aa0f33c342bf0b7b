import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { baselinesText } from '../../src/dashboard/logic/baselines-text.ts'

it('limits are shown as the lines of the file that would set them', () => {
  const limits = { personal: { read: { '1h': 120, '1d': 1200 } }, global: { read: { '1h': 12_000, '1d': 120_000 } } }
  expect(baselinesText(limits)).toBe(`quota:
  baselines:
    personal:
      read: { 1h: 120, 1d: 1200 }
    global:
      read: { 1h: 12000, 1d: 120000 }`)
  expect(parse(baselinesText(limits))).toEqual({ quota: { baselines: limits } })
})

it('a scope without a limit has no line', () => {
  const limits = { personal: { read: { '1h': 120 } }, global: { read: {} } }
  expect(parse(baselinesText(limits))).toEqual({ quota: { baselines: { personal: limits.personal } } })
})
