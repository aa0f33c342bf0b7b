import { expect, it } from 'vitest'
import { type Refusal, refusalOf } from '../../src/gateway/responses.ts'
import { NOTHING_AHEAD } from '../../src/quota/ahead.ts'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import { createPolicy } from '../../src/quota/policy.ts'
import { understood } from '../e2e/harness.ts'

const AT = Date.UTC(2026, 7, 6, 14, 36, 26)
const HOUR = { name: '1h', seconds: 3600 }
const CHARGE: Charge = {
  user: 'alice',
  organisation: null,
  category: 'read',
  cost: 4,
  limits: { personal: [{ window: HOUR, limit: 10 }], organisation: null, global: null },
}
const decision = (at = AT): Decision => ({
  accepted: false,
  at,
  personal: [{ startedAt: AT - 1_800_000, used: 8 }],
  organisation: null,
  global: null,
})
const RULES = {
  timeZone: 'UTC',
  retryAfterMax: Number.POSITIVE_INFINITY,
  legacyFields: false,
  ahead: () => NOTHING_AHEAD,
}
const ALICE = { user: 'alice', organisation: null, plan: null }
const PROBLEM = 'application/problem+json'

function parts({ response }: Refusal) {
  const field = (name: string): string => response.headers[response.headers.indexOf(name) + 1] ?? ''
  return { field, body: JSON.parse(String(response.body)) }
}

it('the 429 of a decision is made once', () => {
  const refused = decision()
  expect(refusalOf(ALICE, CHARGE, refused, RULES, '*/*')).toBe(refusalOf(ALICE, CHARGE, refused, RULES, undefined))
})

it('the 429 of a decision says in Retry-After no more than the configuration allows, and the true time everywhere else', () => {
  const refused = decision()
  const [bounded, whole] = [60, 3600].map((retryAfterMax) =>
    parts(refusalOf(ALICE, CHARGE, refused, { ...RULES, retryAfterMax }, undefined)),
  )
  expect([bounded?.field('Retry-After'), whole?.field('Retry-After')]).toEqual(['60', '1800'])
  expect(bounded?.body).toEqual(whole?.body)
  expect(bounded?.body.retryAfterSeconds).toBe(1800)
  for (const name of ['X-Quota-Reset', 'RateLimit']) expect(bounded?.field(name)).toBe(whole?.field(name))
})

it('the 429 of a decision is made anew for another decision with the same numbers, which may be later', () => {
  const later = decision(AT + 5000)
  expect(parts(refusalOf(ALICE, CHARGE, decision(), RULES, undefined)).field('Retry-After')).toBe('1800')
  expect(parts(refusalOf(ALICE, CHARGE, later, RULES, undefined)).field('Retry-After')).toBe('1795')
})

it('the 429 of a decision is that of this request where one decision refuses different ones', () => {
  const refused = decision()
  const first = parts(refusalOf(ALICE, CHARGE, refused, RULES, undefined))
  const problem = parts(refusalOf(ALICE, CHARGE, refused, RULES, PROBLEM))
  const dearer = parts(refusalOf(ALICE, { ...CHARGE, cost: 7 }, refused, RULES, undefined))
  const again = parts(refusalOf(ALICE, CHARGE, refused, RULES, undefined))
  const elsewhere = parts(refusalOf(ALICE, CHARGE, refused, { ...RULES, timeZone: 'Asia/Tokyo' }, undefined))
  expect([first, dearer, problem].map(({ body }) => body.quota.requested)).toEqual([4, 7, 4])
  expect([first, problem].map(({ field }) => field('Content-Type'))).toEqual([
    'application/json; charset=utf-8',
    PROBLEM,
  ])
  expect(problem.body.status).toBe(429)
  expect(elsewhere.body.msg).toContain('Asia/Tokyo')
  expect(again.body).toEqual(first.body)
})

it('the 429 of a decision says never where no waiting helps, in a field of its own that each form of the body has', () => {
  const states = [4, 10, 11].flatMap((cost) =>
    [undefined, PROBLEM].map((accept) => {
      const { headers } = refusalOf(ALICE, { ...CHARGE, cost }, decision(), RULES, accept).response
      const at = headers.indexOf('X-Tollgate-Quota-State')
      return at < 0 ? null : headers[at + 1]
    }),
  )
  expect(states).toEqual([null, null, null, null, 'never', 'never'])
})

it('the 429 of a decision does not say never where the limit may rise by itself, in mode adaptive or once a user is known', () => {
  const dear = { ...CHARGE, cost: 11 }
  const of = (charge: Charge, rules: typeof RULES) =>
    refusalOf(ALICE, charge, decision(), rules, undefined).response.headers.includes('never')
  expect(of(dear, RULES)).toBe(true)
  expect(of(dear, { ...RULES, ahead: () => ({ ...NOTHING_AHEAD, canRise: true }) })).toBe(false)
  const ofNew = { ...dear.limits, personal: [{ window: HOUR, limit: 10, kept: 5 }] }
  expect(of({ ...dear, limits: ofNew }, RULES)).toBe(false)
  expect(of({ ...dear, cost: 16, limits: ofNew }, RULES)).toBe(true)
})

it('the 429 of a decision does not say never where the limit ends by itself', () => {
  const policy = createPolicy(understood('upstream: { url: "http://127.0.0.1:9000" }').config.quota)
  const ahead = { canRise: false, moments: () => [AT + 60_000], at: () => ({ policy, shadow: true }) }
  const { response } = refusalOf(
    ALICE,
    { ...CHARGE, cost: 11 },
    decision(),
    { ...RULES, ahead: () => ahead },
    undefined,
  )
  expect([
    response.headers.includes('never'),
    response.headers.at(1 + response.headers.indexOf('Retry-After')),
  ]).toEqual([false, '60'])
})

it('the 429 of a decision says in its sentence that waiting does not help where its field says never, and nowhere else', () => {
  for (const canRise of [false, true]) {
    const rules = { ...RULES, ahead: () => ({ ...NOTHING_AHEAD, canRise }) }
    const { body } = parts(refusalOf(ALICE, { ...CHARGE, cost: 11 }, decision(), rules, undefined))
    expect([canRise, /waiting does not help/.test(body.msg)]).toEqual([canRise, !canRise])
  }
})

it('the 429 of a decision names the scope that refused', () => {
  const global = [{ window: HOUR, limit: 3 }]
  const charge = { ...CHARGE, cost: 1, limits: { ...CHARGE.limits, global } }
  const used = [{ startedAt: AT - 1000, used: 3 }]
  expect(refusalOf(ALICE, charge, { ...decision(), global: used }, RULES, undefined).by.scope).toBe('global')
  expect(refusalOf(ALICE, CHARGE, decision(), RULES, undefined).by.scope).toBe('personal')
})
