import { describe, expect, it } from 'vitest'
import { planRulesOf } from '../../src/app/plan-rules.ts'
import type { Entry } from '../../src/replay/entry.ts'
import { createTariffs } from '../../src/replay/tariffs.ts'
import { understood } from '../e2e/harness.ts'

const YAML = `
upstream: { url: "http://127.0.0.1:9" }
store: "sqlite::memory:"
auth: { gateway_tokens: true, anonymous: { by: address, plan: free } }
quota:
  refund: unreached
  plans: { free: { personal: { read: { 1h: 5 } } }, pro: { personal: { read: { 1h: 50 } } } }
  exempt: { users: [monitor], addresses: [10.0.0.0/8] }
routes:
  - { match: GET /items/:id, category: read, cost: 2, anonymous: true }
  - { match: GET /items/all, category: read, cost: 9, anonymous: false }
  - { match: POST /files/*, category: write, cost: 3, anonymous: false }
  - { match: GET /health, public: true }
  - { match: POST /charge, category: write, cost: { body: id, values: { 1: 10, 2: 25 } } }
  - { match: GET /export, category: read, cost: { query: limit, times: 0.1, max: 500, missing: 100 } }
  - { match: PUT /streams/*, category: write, cost: { size: request, per: 1MiB, max: 30 } }
  - { match: POST /report, category: write, cost: 20, settle: { header: X-Tokens, max: 50 } }
  - { match: POST /found, category: write, cost: 20, settle: { status: { 4xx: 600 }, json: u, max: 500 } }
  - { match: POST /untold, category: write, cost: 20, settle: { json: u, max: 50, missing: 70 } }
  - { match: POST /coded, category: write, cost: 20, settle: { json: u, values: { 1: 30 }, otherwise: 40 } }
  - { match: POST /chat, charges: { read: 1, write: { cost: { body: id, values: { 1: 10, 2: 25 } }, settle: { header: X-Tokens, max: 50 } } } }
  - { match: POST /ticket, category: write, cost: 5, idempotency: { header: Idempotency-Key, for: 1h, replays: 3 } }
`
const { config } = understood(YAML)
const tariffs = createTariffs(config, await planRulesOf(config))

const BASE: Entry = {
  at: 1,
  endedAt: 2,
  method: 'GET',
  target: { kind: 'path', text: '/items/7' },
  user: 'alice',
  address: null,
  plan: null,
  organisation: null,
  cost: null,
  charged: null,
  fate: 'passed',
}
const rule = (text: string) => ({ method: text.split(' ')[0] ?? '', target: { kind: 'rule' as const, text } })
const priced = (changes: Partial<Entry>) => {
  const tariff = tariffs({ ...BASE, ...changes })
  return tariff.kind === 'uncharged'
    ? tariff.why
    : [tariff.route, ...tariff.meters.flatMap(({ cost, finalCost }) => [cost, finalCost])]
}

describe('what a request of the log costs under the configuration', () => {
  it.each<[string, Partial<Entry>, unknown]>([
    ['by its path', {}, ['GET /items/:id', 2, 2]],
    ['by the more specific rule', { target: { kind: 'path', text: '/items/all' } }, ['GET /items/all', 9, 9]],
    ['by the rule that the log names', rule('GET /items/:what'), ['GET /items/:id', 2, 2]],
    ['by a rule for any rest', rule('POST /files/*'), ['POST /files/*', 3, 3]],
    ['nothing where no route matches', rule('unmatched'), 'no_route'],
    ['nothing on a public route', rule('GET /health'), 'not_charged'],
    ['what the log says, where a body decides', { ...rule('POST /charge'), cost: 10 }, ['POST /charge', 10, 10]],
    ['the dearest, where nobody knows the body', rule('POST /charge'), ['POST /charge', 25, 25]],
    ['the dearest, where the price is another one now', { ...rule('POST /charge'), cost: 3 }, ['POST /charge', 25, 25]],
    [
      'by its query, where the log has it',
      { target: { kind: 'path', text: '/export?limit=42' } },
      ['GET /export', 5, 5],
    ],
    ['what the log says, where a query decides', { ...rule('GET /export'), cost: 7 }, ['GET /export', 7, 7]],
    ['what its response said', { ...rule('POST /report'), charged: 7 }, ['POST /report', 20, 7]],
    ['what its bytes came to', { ...rule('PUT /streams/*'), cost: 30, charged: 7 }, ['PUT /streams/*', 30, 7]],
    ['no more than settle.max', { ...rule('POST /report'), charged: 70 }, ['POST /report', 20, 50]],
    ['what its status said, above settle.max', { ...rule('POST /found'), charged: 600 }, ['POST /found', 20, 600]],
    ['no more than any status says', { ...rule('POST /found'), charged: 700 }, ['POST /found', 20, 600]],
    [
      'what a silent response costs, above settle.max',
      { ...rule('POST /untold'), charged: 70 },
      ['POST /untold', 20, 70],
    ],
    ['no more than any value costs', { ...rule('POST /coded'), charged: 700 }, ['POST /coded', 20, 40]],
    [
      'in each of several meters what the log says of it',
      {
        ...rule('POST /chat'),
        meters: [
          { category: 'write', cost: 10, charged: 7 },
          { category: 'read', cost: 1, charged: null },
        ],
      },
      ['POST /chat', 1, 1, 10, 7],
    ],
    ['the dearest in a meter that the log does not have', rule('POST /chat'), ['POST /chat', 1, 1, 25, 25]],
    ['nothing if it reached nobody', { fate: 'unreached' }, ['GET /items/:id', 2, 0]],
    ['nothing as a repetition', { ...rule('POST /ticket'), fate: 'repeated' }, 'repeated'],
    ['its price as a repetition where no key counts', { fate: 'repeated' }, ['GET /items/:id', 2, 2]],
    ['nothing as a question that was asked again, of which no rule has the key', { fate: 'asked_again' }, 'repeated'],
    ['nothing for an exempt user', { user: 'monitor' }, 'exempt'],
    ['nothing for an exempt address', { fate: 'exempt' }, 'exempt'],
    ['nothing without a caller', { ...rule('POST /files/*'), user: null, address: '192.0.2.7' }, 'no_caller'],
    ['nothing without any name', { user: null }, 'no_caller'],
  ])('%s', (_what, changes, expected) => expect(priced(changes)).toEqual(expected))

  it('what a request of the log costs under the configuration is paid by the address where the route lets it in', () => {
    expect(tariffs({ ...BASE, user: null, address: '192.0.2.7' })).toMatchObject({
      payer: { user: 'address:192.0.2.7', plan: 'free', organisation: null },
    })
  })

  it('what a request of the log costs under the configuration is paid by the address where auth.shadow lets everybody in, also on a path that no rule matches', async () => {
    const text = 'unmatched: { category: read, cost: 1, shadow: true }\n'
    const { config: shadowed } = understood(YAML.replace('auth: {', 'auth: { shadow: true,') + text)
    const tariffOf = createTariffs(shadowed, await planRulesOf(shadowed))
    for (const target of ['/files/a', '/nothing']) {
      const entry = { ...BASE, method: 'POST', target: { kind: 'path', text: target }, user: null } as const
      expect(tariffOf({ ...entry, address: '192.0.2.7' })).toMatchObject({ payer: { user: 'address:192.0.2.7' } })
    }
  })
})
