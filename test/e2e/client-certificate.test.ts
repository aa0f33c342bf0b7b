import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate, makeCrl } from '../setup/openssl.ts'
import { type RunningApp, SECRET, startApp } from './harness.ts'
import { bearer } from './jwt.ts'

let folder: string
let ca: Certificate
let crl: string
let upstream: http.Server
let sockets: WebSocketServer
let app: RunningApp
let text: string
beforeAll(async () => {
  folder = tempFolder()
  ca = makeCa(folder, 'ca')
  crl = join(folder, 'list.pem')
  writeFileSync(crl, makeCrl(folder, ca, []))
  const server = makeCertificate(folder, 'server', ca, 'IP:127.0.0.1')
  upstream = http.createServer((req, res) => res.end(String(req.headers['x-tollgate-user'])))
  sockets = new WebSocketServer({ server: upstream })
  const port = await listening(upstream)
  text = `
listen: 127.0.0.1:0
tls: { cert: ${server.certFile}, key: ${server.keyFile} }
upstream: { url: "http://127.0.0.1:${port}" }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0" }
auth:
  client_certificate: { ca: ${ca.certFile}, crl: ${crl}, user: uri }
  jwt: [{ issuer: "https://id.test", audience: tollgate, algorithms: [HS256], secret: "${SECRET}" }]
quota: { baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 100 } } } }
routes: [{ match: "GET /*", category: read, cost: 1 }]
log: { level: fatal, requests: none }
`
  app = await startApp(text)
})
afterAll(async () => {
  sockets.close()
})

const client = (name: string, altName: string) => makeCertificate(folder, name, ca, altName)

async function ask(pair: Certificate | null, headers: Record<string, string> = {}) {
  const tls = { ca: ca.cert, agent: false as const, ...(pair !== null && { cert: pair.cert, key: pair.key }) }
  const request = https.get(`${app.url}/x`, { ...tls, headers })
  const [response] = await once(request, 'response')
  let user = ''
  for await (const chunk of response) user += chunk
  return { status: response.statusCode, user }
}

it('a certificate is who asks where no other credential is there, and one that is none is 401', async () => {
  const alice = client('alice', 'URI:spiffe://test/alice')
  expect(await ask(alice)).toEqual({ status: 200, user: 'certificate:spiffe://test/alice' })
  expect(await ask(null)).toMatchObject({ status: 401 })
  expect(await ask(client('none', 'DNS:alice'))).toMatchObject({ status: 401 })
  expect(await ask(makeCa(folder, 'self'))).toMatchObject({ status: 401 })
  expect(await ask(alice, { authorization: 'Bearer a.b.c' })).toMatchObject({ status: 401 })
  expect(await ask(null, { 'x-forwarded-client-cert': 'URI=spiffe://test/alice' })).toMatchObject({ status: 401 })
})

it('a certificate opens no WebSocket for a page of another host', async () => {
  const carol = client('carol', 'URI:spiffe://test/carol')
  const open = (origin: string) => {
    const ws = new WebSocket(app.url.replace('https:', 'wss:'), {
      ca: ca.cert,
      cert: carol.cert,
      key: carol.key,
      origin,
    })
    return once(ws, 'open').then(
      () => ws.close(),
      ({ message }: Error) => message,
    )
  }
  expect(await open('https://evil.test')).toContain('401')
  expect(await open(app.url)).toBeUndefined()
})

it('a WebSocket ends when the certificate that opened it is revoked', async () => {
  const bob = client('bob', 'URI:spiffe://test/bob')
  const ws = new WebSocket(app.url.replace('https:', 'wss:'), { ca: ca.cert, cert: bob.cert, key: bob.key })
  await once(ws, 'open')
  const closed = once(ws, 'close')
  writeFileSync(`${crl}.next`, makeCrl(folder, ca, [bob]))
  renameSync(`${crl}.next`, crl)
  await closed
  expect(await ask(bob)).toMatchObject({ status: 401 })
})

it('no JWT can name the user of a certificate', async () => {
  expect(await ask(null, bearer('certificate:spiffe://test/alice'))).toMatchObject({ status: 401 })
  expect(await ask(null, bearer('alice'))).toEqual({ status: 200, user: 'alice' })
})

it('the certificate of a trusted proxy is its own, and names nobody whom it asks for', async () => {
  const balancer = client('balancer', 'URI:spiffe://test/balancer')
  expect(await ask(balancer)).toEqual({ status: 200, user: 'certificate:spiffe://test/balancer' })
  const more = 'edge: { trusted_proxies: [127.0.0.1] }\n'
  await app.reload(text.replace('auth:\n', `${more}auth:\n`))
  expect(await ask(balancer, { 'x-forwarded-for': '203.0.113.9' })).toMatchObject({ status: 401 })
  await app.reload(text.replace('auth:\n', `${more}auth:\n  trusted: { user: X-User }\n  anonymous: {}\n`))
  const stranger = await ask(balancer, { 'x-forwarded-for': '203.0.113.9' })
  expect([stranger, app.requests().at(-1)?.user]).toEqual([{ status: 200, user: 'undefined' }, 'address:203.0.113.9'])
  expect(await ask(balancer, { 'x-user': '' })).toEqual({ status: 200, user: 'undefined' })
  expect(await ask(balancer, { 'x-user': 'zoe' })).toEqual({ status: 200, user: 'zoe' })
  await app.reload(text)
})
