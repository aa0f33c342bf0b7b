import http from 'node:http'
import { beforeAll, expect, it } from 'vitest'
import { startNginx } from '../setup/nginx.ts'
import type { SystemProxy } from '../setup/system-proxy.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'

let nginx: SystemProxy
let app: RunningApp
beforeAll(async () => {
  nginx = await startNginx(`gzip on; location / { default_type text/html; return 200 "${'a'.repeat(2000)}"; }`)
})

async function ask(headers: http.OutgoingHttpHeaders = {}): Promise<http.IncomingHttpHeaders> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  http.get(app.url, { headers: { 'accept-encoding': 'gzip', ...headers }, agent: false }, resolve).on('error', reject)
  const response = await promise
  response.resume()
  return response.headers
}

const start = async (upstream = '') => {
  app = await startApp(yaml(`http://127.0.0.1:${nginx.port}`, 'unmatched: forward', undefined, upstream))
}

it('an nginx with its defaults compresses for the gateway as it does for the client', async () => {
  await start()
  expect((await ask())['content-encoding']).toBe('gzip')
})

it('an nginx with its defaults compresses nothing where via: true says that there is a proxy', async () => {
  await start('via: true')
  expect((await ask())['content-encoding']).toBeUndefined()
})
