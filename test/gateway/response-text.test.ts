import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ResponseCost } from '../../src/gateway/response-cost.ts'
import { ResponseText } from '../../src/gateway/response-text.ts'
import { eventReaderOf } from '../../src/lib/event-stream.ts'
import type { JsonText } from '../../src/lib/json-text.ts'
import type { SettleRule } from '../../src/routing/final-cost.ts'

const ASKED = { isHead: false, hasField: false, quota: () => [] }
const RESERVE = 20

const rule = (name: string, maxBody: number): SettleRule => ({
  status: new Map(),
  source: { kind: 'json', paths: [[name]], sum: null, maxBody },
  reading: { max: 500 },
  otherwise: 'all',
  missing: 'all',
})

/** What some meters cost by one response, each with this text of it, or by one of its own. */
function costsOf(
  rules: readonly SettleRule[],
  headers: Readonly<Record<string, string>>,
  pieces: readonly Buffer[],
  text: ResponseText | null,
) {
  const names = Object.keys(headers).map((lower) => ({ text: lower, lower, framing: false }))
  const meters = rules.map((each) => new ResponseCost(each, RESERVE, ASKED, text))
  for (const meter of meters) meter.onHead({ status: 200, phrase: null, names, values: Object.values(headers) })
  for (const piece of pieces) for (const meter of meters) meter.onBody(piece)
  for (const meter of meters) meter.onEnd()
  return Promise.all(meters.map((meter) => meter.cost({ outcome: 'forwarded', headSent: true })))
}

const TYPES = ['application/json', 'text/event-stream', 'application/x-ndjson']
const members = fc.record(
  { a: fc.nat(9), b: fc.oneof(fc.nat(9), fc.constant('none')), c: fc.nat(9) },
  { requiredKeys: [] },
)
const response = fc.record({
  type: fc.constantFrom(...TYPES),
  events: fc.array(members, { minLength: 1, maxLength: 4 }),
  isGzip: fc.boolean(),
  every: fc.integer({ min: 1, max: 40 }),
  bounds: fc.tuple(fc.integer({ min: 5, max: 60 }), fc.integer({ min: 5, max: 60 }), fc.constant(1000)),
})

it('meters that share the text of a response cost what each costs that reads it alone, whatever its bound', async () => {
  await fc.assert(
    fc.asyncProperty(response, async ({ type, events, isGzip, every, bounds }) => {
      const lines = events.map((event) => JSON.stringify(event))
      const text =
        type === 'text/event-stream' ? lines.map((line) => `data: ${line}\n\n`).join('') : `${lines.join('\n')}\n`
      const body = isGzip ? gzipSync(text) : Buffer.from(text)
      const headers = { 'content-type': type, ...(isGzip && { 'content-encoding': 'gzip' }) }
      const pieces = Array.from({ length: Math.ceil(body.length / every) }, (_, i) =>
        body.subarray(i * every, (i + 1) * every),
      )
      const rules = ['a', 'b', 'c'].map((name, i) => rule(name, bounds[i] as number))
      const shared = costsOf(rules, headers, pieces, new ResponseText(Math.max(...bounds)))
      expect(await shared).toEqual(await costsOf(rules, headers, pieces, null))
    }),
    { numRuns: 500 },
  )
}, 60_000)

it('the text of a response is held, decoded and parsed once, however many give its pieces and look into it', async () => {
  const text = new ResponseText(1000)
  const body = gzipSync('{"n":4}')
  for (const _ of ['one meter', 'another one']) text.hold(body, body.length)
  const [whole, again] = await Promise.all([text.whole('gzip'), text.whole('gzip')])
  expect(whole?.text).toBe('{"n":4}')
  expect(again).toBe(whole)
  expect(again?.values).toBe(whole?.values)
})

it('an event of a response is one text for all who listen, once for each event', () => {
  const text = new ResponseText(1000)
  const heard: (JsonText | null)[][] = [[], []]
  const open = eventReaderOf('text/event-stream')
  for (const list of heard) text.listen(open as NonNullable<typeof open>, (event) => list.push(event))
  const piece = Buffer.from('data: {"n":4}\n\n')
  for (const _ of heard) text.pass(piece, piece.length)
  expect(heard[0]?.map((event) => event?.text)).toEqual(['{"n":4}'])
  expect(heard[1]?.[0]).toBe(heard[0]?.[0])
})
