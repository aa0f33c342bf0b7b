import { beforeEach, expect, test } from 'vitest'
import { BUNDLED_CATALOGUE } from '../../services/music/catalogue.ts'
import { createScoreService } from '../../services/score/service.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { startApp, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

/**
 * The price by a body field in front of the service that reads the field: a request costs something only where it buys something. What else
 * a body may look like is said by `test/routing/price.test.ts`.
 */

let gateway: string
let ask: (body: string, query?: string) => Promise<{ status: number; used: number; tickets: number }>

beforeEach(async () => {
  const options = { database: ':memory:', catalogue: BUNDLED_CATALOGUE, backendSecret: 'secret' }
  const service = closedAtEnd(await createScoreService(options))
  const { url } = await service.listen({ host: '127.0.0.1', port: 0 })
  const app = await startApp(
    yaml(
      url,
      `routes:
  - { match: POST /v1/charge, category: write, cost: { body: [chargeId, charge], values: { 2: 10, 3: 15, 5: 25 } } }
  - { match: POST /v1/user/charge, public: true }
quota: { mode: loose }`,
      'sqlite::memory:',
      'headers: { X-Backend-Secret: secret }',
    ),
  )
  gateway = app.url
  ask = async (body, query = '') => {
    const headers = { ...bearer('alice'), 'content-type': 'application/json' }
    const post = (path: string, text: string) => fetch(app.url + path, { method: 'POST', headers, body: text })
    const status = (await post(`/v1/charge${query}`, body)).status
    const quota = (await (await fetch(`${app.url}/me/quota`, { headers })).json()) as {
      windows: { write: { used: number }[] }
    }
    const owned = (await (
      await fetch(`${url}/v1/user/charge`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-backend-secret': 'secret', 'x-tollgate-user': 'alice' },
        body: '{}',
      })
    ).json()) as { businessData: { userChargeList: { stock: number }[] } }
    return {
      status,
      used: quota.windows.write[0]?.used ?? 0,
      tickets: owned.businessData.userChargeList.reduce((sum, { stock }) => sum + stock, 0),
    }
  }
})

test.each(['{"chargeId":2}', '{"chargeId":2.0}', '{"chargeId":2e0}', '{"chargeId":20e-1}', '{"charge":2}'])(
  '%s is charged, and buys its ticket',
  async (body) => {
    expect(await ask(body)).toEqual({ status: 200, used: 10, tickets: 1 })
  },
)

test.each([
  '{"chargeId":"2"}',
  '{"chargeId":02}',
  '{"chargeId":4}',
  '{"chargeId":2,"chargeId":5}',
  '{"chargeId":2,"charge":2}',
  '{"ChargeId":2}',
  '{}',
])('%s is 400, and neither charged nor forwarded', async (body) => {
  expect(await ask(body)).toEqual({ status: 400, used: 0, tickets: 0 })
})

test.each([
  ['no length and no chunks', ''],
  ['a length of 0', 'Content-Length: 0\r\n'],
])(
  'a request with %s has no body to read a price in: it is 400 at once, and the next one is served',
  async (_what, fields) => {
    const { authorization } = bearer('alice')
    const head = (method: string, more: string): string =>
      `${method} /v1/charge HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: ${authorization}\r\n${more}\r\n`
    const text = await rawExchange(gateway, head('POST', fields) + head('GET', 'Connection: close\r\n'), 10_000)
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['400', '405'])
    expect(await ask('{}')).toEqual({ status: 400, used: 0, tickets: 0 })
  },
)

test.each(['?chargeId=5', '?charge_id=5', '?x=1&CHARGE=5'])(
  'a query %s beside it is refused, and costs nothing',
  async (query) => {
    expect(await ask('{"chargeId":2}', query)).toEqual({ status: 400, used: 0, tickets: 0 })
  },
)
