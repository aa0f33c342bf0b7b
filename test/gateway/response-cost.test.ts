import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ForwardResult } from '../../src/forward/contract.ts'
import { ResponseCost } from '../../src/gateway/response-cost.ts'
import type { SettleRule } from '../../src/routing/final-cost.ts'
import { MODEL_STREAMS, ruleOf } from './model-streams.ts'

const ASKED = { isHead: false, hasField: true, quota: () => [] }

const RULE: SettleRule = {
  status: new Map(),
  source: { kind: 'json', paths: [['n']], sum: null, maxBody: 1 << 20 },
  reading: { max: 500 },
  otherwise: 'all',
  missing: 'all',
}

it('the copy of a body that comes by the byte takes little more than its bytes', async () => {
  const body = Buffer.from('{"n":4}'.padEnd(1 << 20))
  const cost = new ResponseCost(RULE, 20, ASKED)
  cost.onHead({ status: 200, phrase: null, names: [], values: [] })
  const before = process.memoryUsage()
  for (let i = 0; i < body.length; i++) cost.onBody(body.subarray(i, i + 1))
  const after = process.memoryUsage()
  const taken = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers
  cost.onEnd()
  expect(taken).toBeLessThan(50 << 20)
  expect(await cost.cost({ outcome: 'forwarded', headSent: true })).toEqual({ tokens: 4, source: 'response' })
})

const RESERVE = 20
const FORWARDED = { outcome: 'forwarded', headSent: true } as const

interface Given {
  readonly rule?: Partial<SettleRule>
  readonly isHead?: boolean
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly pieces?: readonly Buffer[]
  readonly isWhole?: boolean
  readonly result?: Pick<ForwardResult, 'outcome' | 'headSent'>
}

/** What a request costs whose response is like this. */
function costOf({ rule, isHead = false, status = 200, headers = {}, pieces, isWhole = true, ...rest }: Given) {
  const { result = FORWARDED } = rest
  const cost = new ResponseCost({ ...RULE, ...rule }, RESERVE, { ...ASKED, isHead })
  const names = Object.keys(headers).map((lower) => ({ text: lower, lower, framing: false }))
  cost.onHead({ status, phrase: null, names, values: Object.values(headers) })
  for (const piece of pieces ?? [Buffer.from('{"n":4}')]) cost.onBody(piece)
  if (isWhole) cost.onEnd()
  return cost.cost(result)
}

const PAID = { tokens: 4, source: 'response' }
const UNREAD = { tokens: RESERVE, source: 'unread' }
const short = (maxBody: number) => ({ source: { kind: 'json', paths: [['n']], sum: null, maxBody } }) as const

describe('what a request costs by the body of its response', () => {
  it.each<[string, Given, unknown]>([
    ['is read of a whole one', {}, PAID],
    ['is read of one that is said to be in no coding', { headers: { 'content-encoding': 'identity' } }, PAID],
    ['is read in its coding', { headers: { 'content-encoding': 'gzip' }, pieces: [gzipSync('{"n":4}')] }, PAID],
    ['is not read of a part, which 206 says', { status: 206 }, UNREAD],
    ['is not read of a 304, which has none', { status: 304, pieces: [] }, UNREAD],
    ['is not read of the response to a HEAD, which has none', { isHead: true, pieces: [] }, UNREAD],
    ['is read of one of just the length that is read', { rule: short(7) }, PAID],
    ['is not read of a longer one', { rule: short(6) }, UNREAD],
    [
      'is not read of one that gets longer out of its coding',
      { rule: short(100), headers: { 'content-encoding': 'gzip' }, pieces: [gzipSync('{"n":4}'.padEnd(200))] },
      UNREAD,
    ],
    ['is not read of one that broke off', { isWhole: false, result: { outcome: 'failed', headSent: true } }, UNREAD],
  ])('%s', async (_title, given, cost) => {
    expect(await costOf(given)).toEqual(cost)
  })
})

const SSE = { 'content-type': 'text/event-stream' }
const N = (n: unknown) => `data: {"n":${n}}\n\n`
const cut = { isWhole: false, result: { outcome: 'aborted', headSent: true } } as const
const says = (text: string) => ({ headers: SSE, pieces: [Buffer.from(text)] })

describe('what a request costs by a stream', () => {
  it.each<[string, Given, unknown]>([
    ['is said by the last event that has it', says(`${N(9)}data: {"n":\ndata: 4}\n\ndata: {}\n\n`), PAID],
    ['is not said by null', says(N(4) + N(null)), PAID],
    ['is the reserve if no event says it', says('data: {}\n\n'), { tokens: RESERVE, source: 'unsaid' }],
    ['may be another if no event says it', { ...says(''), rule: { missing: 3 } }, { tokens: 3, source: 'unsaid' }],
    ['is the reserve if the last one says no number', says(N(4) + N('"4"')), { tokens: RESERVE, source: 'malformed' }],
    [
      'is the reserve if it is compressed, whatever it says',
      { headers: { ...SSE, 'content-encoding': 'gzip' }, pieces: [gzipSync(N(4))], rule: { missing: 0 } },
      { tokens: RESERVE, source: 'coded' },
    ],
    ['is not said by an event without its empty line', says(`${N(4)}data: {"n":5}\n`), PAID],
    ['is known behind [DONE], before the end', { ...says(`${N(4)}data: [DONE]\n\n`), ...cut }, PAID],
    ['is the reserve if it was cut off', { ...says(N(4)), ...cut, rule: { missing: 0 } }, UNREAD],
    [
      'is the reserve if it was cut off before it said anything',
      { ...says('data: {'), ...cut, rule: { missing: 900 } },
      UNREAD,
    ],
    ['is what it said by then if that is more', { ...says(N(44)), ...cut }, { tokens: 44, source: 'response' }],
    ['is said behind an event that is too long', { ...says(`${N('"too long"')}${N(4)}`), rule: short(13) }, PAID],
    [
      'is the reserve if only such an event may say it',
      { ...says(N('"too long"')), rule: { ...short(13), missing: 0 } },
      UNREAD,
    ],
    ['is the reserve if such an event may say more', { ...says(N(4) + N('"too long"')), rule: short(13) }, UNREAD],
    ['is not read of a part', { ...says(N(4)), status: 206 }, UNREAD],
  ])('what a request costs by a stream %s', async (_title, given, cost) => {
    expect(await costOf(given)).toEqual(cost)
  })

  it.each(MODEL_STREAMS)(
    '$name: the sum is the same however the stream is cut',
    async ({ settle, type, body, tokens }) => {
      const given = { rule: ruleOf(settle), headers: { 'content-type': type } }
      const single = Array.from(body, (byte) => Buffer.from([byte]))
      const cuttings = [[body], single, ...single.map((_, at) => [body.subarray(0, at), body.subarray(at)])]
      for (const pieces of cuttings) expect(await costOf({ ...given, pieces })).toEqual({ tokens, source: 'response' })
    },
  )
})

describe('what a request costs by the size of its response', () => {
  const bySize = { source: { kind: 'size', per: 10 }, reading: { max: 500 } } as const
  const pieces = [Buffer.alloc(15), Buffer.alloc(16)]
  it.each<[string, Given, unknown]>([
    ['is a token for each unit that is begun', { pieces }, { tokens: 4, source: 'response' }],
    ['is what came of one that was cut off', { pieces, ...cut }, { tokens: 4, source: 'response' }],
    ['is that of a part', { pieces, status: 206 }, { tokens: 4, source: 'response' }],
    ['is one token without a body', { pieces: [], isHead: true }, { tokens: 1, source: 'response' }],
    ['is max at most', { pieces: [Buffer.alloc(5001)] }, { tokens: 500, source: 'above_max' }],
  ])('what a request costs by the size of its response %s', async (_title, given, cost) => {
    expect(await costOf({ ...given, rule: bySize })).toEqual(cost)
  })
})

const STATUSES = new Map<string, number>([
  ['5xx', 0],
  ['404', 3],
])

it('a response that never came leaves the reserve, unless the rule has tokens for gateway', async () => {
  const never = { outcome: 'failed', headSent: false } as const
  const given = { pieces: [], isWhole: false, result: never } as const
  expect(await costOf({ ...given, rule: { status: STATUSES, missing: 0 } })).toEqual(UNREAD)
  const status = new Map([...STATUSES, ['gateway', 1] as const])
  expect(await costOf({ ...given, rule: { status } })).toEqual({ tokens: 1, source: 'response' })
})

it('a response that broke off costs what its own status costs, and not what the failure of the gateway would', async () => {
  const result = { outcome: 'failed', headSent: true } as const
  const given = { rule: { status: STATUSES }, isWhole: false, result }
  expect(await costOf({ ...given, status: 404 })).toEqual({ tokens: 3, source: 'response' })
})

it('the client reads what its request cost as soon as that is known, and nothing if it repeats one that was charged', () => {
  const told = (hasField: boolean): readonly string[] => {
    const cost = new ResponseCost({ ...RULE, status: STATUSES }, RESERVE, { ...ASKED, hasField })
    expect(cost.fields()).toEqual([])
    cost.onHead({ status: 404, phrase: null, names: [], values: [] })
    return cost.fields()
  }
  expect(told(true)).toEqual(['X-Tollgate-Charged', '3'])
  expect(told(false)).toEqual([])
})
