import { expect, it } from 'vitest'
import { ResponseCost } from '../../src/gateway/response-cost.ts'
import type { SettleRule } from '../../src/routing/final-cost.ts'

const RULE: SettleRule = {
  status: new Map(),
  source: { kind: 'json', path: 'n', maxBody: 1 << 20 },
  reading: { max: 500 },
  otherwise: 'all',
  missing: 'all',
}

it('the copy of a body that comes by the byte takes little more than its bytes', async () => {
  const body = Buffer.from('{"n":4}'.padEnd(1 << 20))
  const cost = new ResponseCost(RULE, 20, false)
  cost.onHead({ status: 200, names: [], values: [] })
  const before = process.memoryUsage()
  for (let i = 0; i < body.length; i++) cost.onBody(body.subarray(i, i + 1))
  const after = process.memoryUsage()
  const taken = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers
  cost.onEnd()
  expect(taken).toBeLessThan(50 << 20)
  expect(await cost.cost({ outcome: 'forwarded', headSent: true }, 0)).toEqual({ tokens: 4, source: 'response' })
})
