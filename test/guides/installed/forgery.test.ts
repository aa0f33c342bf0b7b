import { expect, it, onTestFinished, vi } from 'vitest'
import { rawExchange } from '../../e2e/raw.ts'
import { type Agreement, inParallel, startAgreement, usedBy } from '../agreement.ts'
import { credentialOf } from '../credential.ts'
import { HOST } from '../page.ts'
import { caddy, envoy, haproxy, nginx, traefik } from '../proxies.ts'
import type { Got } from '../upstream.ts'

/** Requests that are to lead a proxy of a page past the gateway, or to a cheaper price. */

vi.setConfig({ testTimeout: 900_000 })

const METHODS = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'],
  ...['PURGE', 'PROPFIND', 'M-SEARCH', 'STEAL', 'get', 'post'],
]
const long = (bytes: number) => `/v1/charge?${'a'.repeat(bytes)}`
const TARGETS = [
  ...['/v1/charge', '/v1/items', '/V1/CHARGE/', '/v1//charge', '//v1/charge', '/v1/./charge', '/v1/items/../charge'],
  ...[
    '/v1/%63harge',
    '/v1/%2e%2e/v1/charge',
    '/v1%2Fcharge',
    '/v1/charge%00',
    '/v1/charge%0d%0aX-A:b',
    '/v1/charge#/v1/items',
  ],
  ...[
    '/v1/charge;/../items',
    '/v1/charge\\..\\items',
    '/v1/charge?x=/v1/items',
    '/v1/charge\t',
    '/v1/caf\xe9',
    '/nowhere',
  ],
  ...[
    `http://${HOST}/v1/charge`,
    'http://127.0.0.1:9/v1/charge',
    'HTTPS://evil.example/v1/charge',
    'http://evil.example',
  ],
  ...['*', 'v1/charge', `${HOST}:443`, '', '/', '?/v1/charge', long(7000), long(9000), long(20_000), long(70_000)],
]
const LIES = [
  '',
  'X-Forwarded-Uri: /v1/items\r\n',
  'X-Forwarded-Uri: /v1/items\r\nX-Forwarded-Uri: /v1/items\r\n',
  'X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /v1/items\r\n',
  'X-Original-URI: /v1/items\r\n',
  'X-Original-Method: GET\r\nX-Original-URI: /v1/items\r\n',
  'X-Original-URI: /v1/items\r\nX-Original-URI: /v1/items\r\nX-Original-Method: GET\r\n',
  'X_Original_URI: /v1/items\r\nX_Forwarded_Uri: /v1/items\r\nX_Tollgate_User: root\r\n',
  'X-Tollgate-User: root\r\nX-Tollgate-User: root\r\n',
  'X-Envoy-Original-Path: /v1/items\r\nX-Original-URL: /v1/items\r\nX-Rewrite-URL: /v1/items\r\n',
  'X-HTTP-Method-Override: GET\r\nX-Method-Override: GET\r\n',
  'Connection: X-Forwarded-Uri, X-Forwarded-Method, X-Original-URI, X-Original-Method\r\n',
  'Connection: X-Tollgate-User\r\n',
  'Connection: Authorization\r\n',
  `Authorization: ${credentialOf('rich')}\r\n`,
  'Host: evil.example\r\n',
  'Expect: 100-continue\r\nContent-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
  'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n',
  `X-A: ${'a'.repeat(14_000)}\r\n`,
]

/** Each method with each target, and each lie with the dear path by what may be cheaper. */
function triesOf(): string[][] {
  const plain = METHODS.flatMap((method, i) =>
    TARGETS.map((target, j) => [method, target, LIES[(i + j) % LIES.length] ?? '']),
  )
  const lied = LIES.flatMap((lie) => ['POST', 'GET', 'OPTIONS'].map((method) => [method, '/v1/charge', lie]))
  return [...plain, ...lied]
}

const head = ([method, target, lie]: readonly string[], user: string) =>
  `${method} ${target} HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: ${credentialOf(user)}\r\nX-Try: ${user}\r\nConnection: close\r\n${lie}\r\n`

/** Whether the gateway forwards the request that the service got, and takes the same for it. */
async function asTheGateway({ gateway, upstream }: Agreement, { method, url, mark }: Got): Promise<unknown> {
  const user = `direct-${mark}`
  await rawExchange(`http://127.0.0.1:${gateway}`, head([method, url, ''], user))
  const forwarded = upstream.got.find((each) => each.mark === user)
  return { method: forwarded?.method, url: forwarded?.url, used: await usedBy(gateway, user) }
}

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'nothing that is forged passes $page which the gateway would refuse, or take more for',
  async (page) => {
    const stack = await startAgreement(page, { read: 100, write: 100 })
    onTestFinished(stack.stop)
    const tries = triesOf()
    await inParallel(tries.length, 16, async (i) => {
      const bytes = Buffer.from(head(tries[i] ?? [], `mallory-${i}`), 'latin1')
      await rawExchange(`http://127.0.0.1:${stack.port}`, bytes).catch(() => '')
    })
    const passed = [...stack.upstream.got]
    expect(new Set(passed.map(({ mark }) => mark)).size).toBe(passed.length)
    await inParallel(passed.length, 8, async (i) => {
      const each = passed[i] as Got
      const { method, url, mark, user } = each
      const what = tries[Number(mark.replace('mallory-', ''))]
      const used = await usedBy(stack.gateway, mark)
      expect({ what, user, method, url, used }).toEqual({
        what,
        user: mark,
        ...((await asTheGateway(stack, each)) as object),
      })
    })
    console.log(`${page.page}: ${tries.length} forged requests, of which ${passed.length} passed as what they are`)
    expect(passed.length).toBeGreaterThan(0)
  },
)
