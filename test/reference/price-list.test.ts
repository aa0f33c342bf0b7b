import { expect, test } from 'vitest'
import { createLimitsInForce } from '../../src/app/limits-in-force.ts'
import { priceList } from '../../src/reference/price-list.ts'
import { understood, yaml } from '../e2e/harness.ts'

const baselines = (more = '') =>
  `baselines: { personal: { read: { 1h: 120 ${more} } }, global: { read: { 1h: 9999 ${more} } } }`

function listOf(routes: readonly string[], quota = baselines(), more = '') {
  const text = `quota: { ${quota} }\nroutes: [${routes.join(', ')}]\n${more}`
  const { config } = understood(yaml('http://secret.internal:9000', text, undefined, 'headers: { X-Secret: hidden }'))
  return priceList(config, createLimitsInForce(config.quota).policy())
}

test('a price list has each route with its methods, its path, its category and its cost', () => {
  const list = listOf([
    '{ match: GET|POST /items/:id, category: read, cost: 4 }',
    '{ match: "* /open/*", public: true }',
    '{ match: POST /charge, category: read, cost: { body: chargeId, values: { 2: 10, 3: 15 } } }',
  ])
  expect(list.routes).toEqual([
    { methods: ['GET', 'POST'], path: '/items/:id', public: false, category: 'read', cost: 4 },
    { methods: ['*'], path: '/open/*', public: true },
    {
      methods: ['POST'],
      path: '/charge',
      public: false,
      category: 'read',
      cost: { body: ['chargeId'], values: { 2: 10, 3: 15 } },
    },
  ])
  expect(list).toMatchObject({ categories: ['read'], limits: { read: { '1h': 120 } }, plans: {}, defaultPlan: null })
})

test.each([
  ['{ header: X-Used, max: 500 }', 500],
  ['{ header: X-Used, max: 5 }', 20],
  ['{ status: { 4xx: 1, 200: 30 }, otherwise: 0 }', 30],
  ['{ status: { 4xx: 1, 5xx: 0 } }', 20],
  ['{ status: { 2xx: 5 }, otherwise: 0 }', 20],
  ['{ status: { 2xx: 5, gateway: 0 }, otherwise: 0 }', 5],
  ['{ json: code, values: { 1: all }, otherwise: 70 }', 70],
])('a price list says the most that a cost by settle %s can be', (settle, max) => {
  const { routes } = listOf([`{ match: GET /a, category: read, cost: 20, settle: ${settle} }`])
  expect(routes[0]).toMatchObject({ cost: 20, settle: { max } })
})

test('a price list says what a WebSocket costs again while it is open', () => {
  const { routes } = listOf(['{ match: GET /ws, category: read, cost: 2, tunnel_charge: 1m }'])
  expect(routes[0]).toMatchObject({ cost: 2, tunnelCharge: { seconds: 60 } })
})

test('a price list says which repetitions cost nothing', () => {
  const { routes } = listOf(['{ match: POST /a, category: read, cost: 2, idempotency: { for: 1h, replays: 3 } }'])
  expect(routes[0]).toMatchObject({ idempotency: { header: 'Idempotency-Key', seconds: 3600, replays: 3 } })
})

test('a price list has the limits of each plan, and windows of a calendar by their zone', () => {
  const month = 'windows: { 1h: 1h, month: { calendar: month, zone: Asia/Shanghai } }'
  const plans = 'plans: { team: { personal: { read: { 1h: 600 } }, organisation: { read: { month: 5000 } } } }'
  const list = listOf([], `${baselines(', month: 3000')}, ${month}, ${plans}, default_plan: team`)
  expect(list.windows).toEqual([
    { name: '1h', seconds: 3600 },
    { name: 'month', calendar: 'month', zone: 'Asia/Shanghai' },
  ])
  expect(list.plans).toEqual({
    team: { personal: { read: { '1h': 600, month: 3000 } }, organisation: { read: { month: 5000 } } },
  })
  expect(list.defaultPlan).toBe('team')
})

test.each([
  ['refuse', null],
  ['forward', { public: true }],
  ['{ category: read, cost: 7 }', { public: false, category: 'read', cost: 7 }],
])('a price list says what other paths cost if they are unmatched: %s', (unmatched, others) => {
  expect(listOf([], undefined, `unmatched: ${unmatched}`).others).toEqual(others)
})

test('a price list has nothing of the upstream, and no limit of all users together', () => {
  const text = JSON.stringify(listOf(['{ match: GET /a, category: read }']))
  expect(text).not.toMatch(/secret|internal|hidden|9999|9000/i)
})
