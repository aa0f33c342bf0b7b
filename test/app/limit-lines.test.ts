import { expect, it } from 'vitest'
import { limitLines } from '../../src/app/limit-lines.ts'
import { startApp, understood, yaml } from '../e2e/harness.ts'

const BASELINES = `  baselines:
    personal: { read: { 1h: 120, 1d: 1200 }, write: { 1h: 60, 1d: 600 } }
    global:
      read: { 1h: 12000, 1d: 120000 }
      write: { 1h: 6000, 1d: 60000 }
`
const ROUTES = `routes:
  - { match: GET /items, category: read, cost: 2 }
  - { match: PUT /items, category: write, cost: 0 }
  - { match: GET /health, public: true }`

const fileOf = (quota: string, routes = ROUTES): string => yaml('http://127.0.0.1:9000', `quota:\n${quota}${routes}`)
const linesOf = (...args: Parameters<typeof fileOf>) => limitLines(understood(fileOf(...args)).config)

it('the limits in force are those of what is charged, with the line of each', () => {
  expect(linesOf(BASELINES)).toEqual([
    'read, each user: 120 in 1h, 1200 in 1d (test.yaml:12)',
    'read, all users together: 12000 in 1h, 120000 in 1d (test.yaml:14)',
  ])
  expect(linesOf(BASELINES, 'routes: [{ match: GET /, public: true }]')).toEqual([])
  expect(linesOf(BASELINES, 'unmatched: { category: write, cost: 1 }')[0]).toBe(
    'write, each user: 60 in 1h, 600 in 1d (test.yaml:12)',
  )
})

it('the limits in force say what nobody wrote', () => {
  expect(linesOf('  shadow: true\n')[0]).toBe('read, each user: 120 in 1h, 400 in 5h, 1200 in 1d (built in)')
  expect(linesOf('  baselines: { personal: { read: { 1h: 5 }, write: { 1h: 5 } } }\n')).toContain(
    'read, all users together: no limit',
  )
})

it('the limits in force say what a mode and a multiplier made of them, and that all users together are switched off', () => {
  expect(linesOf(`  mode: conservative\n  global: { enabled: false, multiplier: 2 }\n${BASELINES}`)).toEqual([
    'read, each user: 90 in 1h, 900 in 1d (test.yaml:14, mode conservative x 0.75)',
    'read, all users together, switched off: 18000 in 1h, 180000 in 1d (test.yaml:16, mode conservative x 0.75, multiplier x 2)',
  ])
})

it('the limits in force name those of each plan, and of whoever has none if there is no default plan', () => {
  const plans = '  plans: { pro: { personal: { read: { 1h: 600 } }, organisation: { read: { 1d: 9000 } } } }\n'
  expect(linesOf(plans + BASELINES)).toEqual([
    'read, each user without a plan: 120 in 1h, 1200 in 1d (test.yaml:13)',
    'read, each user of plan pro: 600 in 1h (test.yaml:11), 1200 in 1d (test.yaml:13)',
    'read, each organisation of plan pro: 9000 in 1d (test.yaml:11)',
    'read, all users together: 12000 in 1h, 120000 in 1d (test.yaml:15)',
  ])
  expect(linesOf(`  default_plan: pro\n${plans}${BASELINES}`).join()).not.toContain('without a plan')
})

it('the limits in force say with which day months begin, of a plan and of a window', () => {
  const quota = `  windows: { month: { calendar: month, zone: UTC, day: 5 } }
  plans: { late: { personal: { read: { month: 20 } }, period_day: 17 }, first: { personal: { read: { month: 9 } }, period_day: 1 } }
  baselines: { personal: { read: { month: 10 } } }
`
  expect(linesOf(quota, 'routes: [{ match: GET /items, category: read }]').slice(0, 3)).toEqual([
    'read, each user without a plan: 10 in month from day 5 (test.yaml:13)',
    'read, each user of plan late: 20 in month from day 17 (test.yaml:12)',
    'read, each user of plan first: 9 in month (test.yaml:12)',
  ])
})

it('the limits in force are no more than fifty lines, and the rest is counted', () => {
  const plans = Array.from({ length: 60 }, (_, i) => `p${i}: { personal: { read: { 1h: ${i} } } }`)
  const lines = linesOf(`  plans: { ${plans.join(', ')} }\n${BASELINES}`)
  expect([lines.length, lines.at(-1)]).toEqual([51, 'and 12 more'])
})

it('a gateway reports its limits when it has read the store, and again after each reload', async () => {
  const text = fileOf(`  shadow: true\n${BASELINES}`)
  const app = await startApp(text)
  const loaded = () => app.observations.filter((seen) => seen.type === 'config_loaded')
  expect(loaded()).toMatchObject([{ shadow: true, timeZone: 'Asia/Shanghai' }])
  expect(loaded()[0]?.limits?.[0]).toBe('read, each user: 120 in 1h, 1200 in 1d (test.yaml:13)')
  const patched = await fetch(`${app.admin}/api/quota`, {
    method: 'PATCH',
    headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
    body: JSON.stringify({ shadow: false, baselines: { personal: { read: { '1h': 7 } } } }),
  })
  expect(patched.status).toBe(200)
  await app.reload(`time_zone: Europe/Berlin\n${text}`)
  expect(loaded()[1]).toMatchObject({ shadow: false, timeZone: 'Europe/Berlin' })
  expect(loaded()[1]?.limits?.[0]).toBe('read, each user: 7 in 1h (set at run time), 1200 in 1d (test.yaml:14)')
})
