import { expect, it } from 'vitest'
import { DAY, expectRefused, HOUR, startScore } from './harness.ts'

type Score = Awaited<ReturnType<typeof startScore>>

const buy = ({ post }: Score, body: unknown, key?: string, user = 'alice') =>
  post('/v1/charge', body, { user, headers: key === undefined ? {} : { 'idempotency-key': key } })

async function stocks({ post }: Score, user = 'alice') {
  const { userChargeList } = (await post('/v1/user/charge', {}, { user })).json.businessData
  return Object.fromEntries(userChargeList.map((row: { chargeId: number; stock: number }) => [row.chargeId, row.stock]))
}

it('POST /v1/charge sells the kinds 2, 3 and 5, under both names of the field', async () => {
  const score = await startScore()
  for (const body of [{ chargeId: 2 }, { charge: 3 }, { chargeId: 5, charge: 5 }, { chargeId: 5 }]) {
    expect((await buy(score, body)).status).toBe(200)
  }
  expect(await stocks(score)).toEqual({ 2: 1, 3: 1, 5: 2 })
})

it.each([
  [{}],
  [{ chargeId: 4 }],
  [{ chargeId: 0 }],
  [{ chargeId: '2' }],
  [{ chargeId: null }],
  [{ chargeId: 2.5 }],
  [{ chargeId: 2, charge: 5 }],
  [{ chargeId: 2, stock: 9 }],
  [{ chargeId: 2, max_stock: 0 }],
  [[{ chargeId: 2 }]],
])('POST /v1/charge refuses %j with 400 and sells nothing', async (body) => {
  const score = await startScore()
  expect(await buy(score, body)).toMatchObject({ status: 400, json: { error: 'invalid_request', returnCode: 1205 } })
  expect(await stocks(score)).toEqual({})
})

it('POST /v1/charge stops at the maximum of one kind', async () => {
  const score = await startScore({ maxStock: 2 })
  for (const _ of [1, 2]) await buy(score, { chargeId: 2 })
  expectRefused(await buy(score, { chargeId: 2 }), 409, 'ticket_limit')
  expect((await buy(score, { chargeId: 3 })).status).toBe(200)
  expect(await stocks(score)).toEqual({ 2: 2, 3: 1 })
})

it('POST /v1/charge lets the client lower the maximum and never raise it', async () => {
  const score = await startScore({ maxStock: 2 })
  await buy(score, { chargeId: 2, max_stock: 1 })
  expect((await buy(score, { chargeId: 2, max_stock: 1 })).json.error).toBe('ticket_limit')
  expect((await buy(score, { chargeId: 2, max_stock: 99 })).status).toBe(200)
  expect((await buy(score, { chargeId: 2, max_stock: 99 })).json.error).toBe('ticket_limit')
})

it('POST /v1/charge forgets tickets 90 days after the last purchase', async () => {
  const score = await startScore()
  await buy(score, { chargeId: 2 })
  score.clock.now += 90 * DAY - 1
  expect(await stocks(score)).toEqual({ 2: 1 })
  score.clock.now += 1
  expect(await stocks(score)).toEqual({})
  expect((await score.post('/v1/ticket/clear')).json.businessData).toEqual({ clearedKinds: 0, clearedStock: 0 })
  await buy(score, { chargeId: 2 })
  expect(await stocks(score)).toEqual({ 2: 1 })
})

it('POST /v1/charge lists no kind of which all tickets were taken away', async () => {
  const score = await startScore()
  await buy(score, { chargeId: 2 })
  expect((await score.post('/v1/ticket/clear')).json.businessData).toEqual({ clearedKinds: 1, clearedStock: 1 })
  expect(await stocks(score)).toEqual({})
})

it('POST /v1/charge counts every purchase of many at once', async () => {
  const score = await startScore()
  await Promise.all(Array.from({ length: 40 }, () => buy(score, { chargeId: 2 })))
  expect(await stocks(score)).toEqual({ 2: 40 })
})

it('Idempotency-Key buys once for the same key, also when the requests come together', async () => {
  const score = await startScore()
  const responses = await Promise.all(Array.from({ length: 10 }, () => buy(score, { chargeId: 2 }, 'key-1')))
  expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  score.clock.now += HOUR
  expect((await buy(score, { chargeId: 2 }, 'key-1')).text).toBe(responses[0]?.text)
  expect(await stocks(score)).toEqual({ 2: 1 })
})

it('Idempotency-Key knows the same request by its meaning', async () => {
  const score = await startScore()
  const first = await buy(score, { chargeId: 2, qrcode: 'one' }, 'key-1')
  expect((await buy(score, { charge: 2, qrcode: 'two' }, 'key-1')).text).toBe(first.text)
})

it('Idempotency-Key refuses the key for another request', async () => {
  const score = await startScore()
  await buy(score, { chargeId: 2 }, 'key-1')
  for (const other of [{ chargeId: 3 }, { chargeId: 2, max_stock: 5 }]) {
    expectRefused(await buy(score, other, 'key-1'), 409, 'idempotency_conflict')
  }
  expect(await stocks(score)).toEqual({ 2: 1 })
})

it('Idempotency-Key belongs to one user', async () => {
  const score = await startScore()
  await buy(score, { chargeId: 2 }, 'key-1', 'alice')
  expect((await buy(score, { chargeId: 3 }, 'key-1', 'bob')).status).toBe(200)
  expect(await stocks(score, 'bob')).toEqual({ 3: 1 })
})

it('Idempotency-Key is kept for 24 hours', async () => {
  const score = await startScore()
  await buy(score, { chargeId: 2 }, 'key-1')
  score.clock.now += DAY - 1
  await buy(score, { chargeId: 2 }, 'key-1')
  expect(await stocks(score)).toEqual({ 2: 1 })
  score.clock.now += 1
  expect((await buy(score, { chargeId: 3 }, 'key-1')).status).toBe(200)
  expect(await stocks(score)).toEqual({ 2: 1, 3: 1 })
})

it('Idempotency-Key does not keep a refusal', async () => {
  const score = await startScore({ maxStock: 1 })
  await buy(score, { chargeId: 2 })
  expect((await buy(score, { chargeId: 2 }, 'key-1')).json.error).toBe('ticket_limit')
  await score.post('/v1/ticket/clear')
  expect((await buy(score, { chargeId: 2 }, 'key-1')).status).toBe(200)
})

it.each(['', 'a b', 'x'.repeat(256)])(
  'Idempotency-Key must be visible ASCII of sensible length, not "%.20s"',
  async (key) => {
    const score = await startScore()
    expect((await buy(score, { chargeId: 2 }, key)).status).toBe(400)
    expect(await stocks(score)).toEqual({})
  },
)
