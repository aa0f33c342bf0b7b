import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tls from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type Certificate, makeCa, makeCertificate, makeCrl } from '../setup/openssl.ts'

const folder = tempFolder()
let ca: Certificate
let pairs: Record<'first' | 'exact' | 'wild', Certificate>
let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  ca = makeCa(folder, 'ca')
  pairs = {
    first: makeCertificate(folder, 'first', ca, 'DNS:first.test,IP:127.0.0.1'),
    wild: makeCertificate(folder, 'wild', ca, 'DNS:*.shop.test,DNS:shop.test'),
    exact: makeCertificate(folder, 'exact', ca, 'DNS:pay.shop.test'),
  }
  upstream = await startUpstream()
})

const listed = (...all: readonly Certificate[]) =>
  `tls: [${all.map(({ certFile, keyFile }) => `{ cert: "${certFile}", key: "${keyFile}" }`).join(', ')}]`

/** @param own of the client */
function connectTo(servername: string | undefined, own: Partial<Certificate> = {}): Promise<tls.TLSSocket> {
  const port = Number(new URL(app.url).port)
  const { cert, key } = own
  const name = servername === undefined ? {} : { servername }
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, cert, key, ...name })
  return once(socket, 'secureConnect').then(() => socket)
}

async function nameFor(servername?: string): Promise<string> {
  const socket = await connectTo(servername)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

const ROUTES = 'routes: [{ match: GET /x, public: true }]'

describe('several certificates of one listener', () => {
  it.each([
    ['the name of one', 'pay.shop.test', 'exact'],
    ['a name below a wildcard', 'www.shop.test', 'wild'],
    ['the name beside the wildcard', 'shop.test', 'wild'],
    ['in capital letters', 'WWW.Shop.Test', 'wild'],
    ['two labels below a wildcard', 'a.b.shop.test', 'first'],
    ['a name of the first', 'first.test', 'first'],
    ['a name that nobody has', 'other.test', 'first'],
    ['the wildcard itself', '*.shop.test', 'wild'],
    ['no name', undefined, 'first'],
  ])(
    'several certificates of one listener are chosen by the name that the client asks for: %s',
    async (_what, asked, name) => {
      app = await startApp(yaml(upstream.url, `${ROUTES}\n${listed(pairs.first, pairs.wild, pairs.exact)}`))
      expect(await nameFor(asked)).toBe(name)
    },
  )

  it('several certificates of one listener are replaced each by itself, and one that is refused stays while the others are replaced', async () => {
    const own = [makeCertificate(folder, 'one', ca, 'DNS:one.test'), makeCertificate(folder, 'two', ca, 'DNS:two.test')]
    const next = makeCertificate(folder, 'next', ca, 'DNS:next.test')
    const [one, two] = own as [Certificate, Certificate]
    app = await startApp(yaml(upstream.url, `${ROUTES}\n${listed(pairs.first, one, two)}`))
    writeFileSync(two.certFile, 'garbage')
    const refused = () => app.observations.flatMap((o) => (o.type === 'certificate_refused' ? o.file : []))
    await expect.poll(refused, { timeout: 20_000 }).toContain(two.certFile)
    writeFileSync(one.certFile, next.cert)
    writeFileSync(one.keyFile, next.key)
    await expect.poll(() => nameFor('next.test'), { timeout: 20_000 }).toBe('next')
    expect(await nameFor('one.test')).toBe('first')
    expect(await nameFor('two.test')).toBe('two')
    const { degraded } = (await (await fetch(`${app.admin}/readyz`)).json()) as { degraded: readonly string[] }
    expect(degraded).toContainEqual(expect.stringContaining('certificate of the gateway listener is refused'))
  })

  it('all ask clients for one of theirs, which is held against authorities and the list of revoked ones', async () => {
    const clients = makeCa(folder, 'clients')
    const [alice, mallory] = [
      makeCertificate(folder, 'alice', clients, 'DNS:alice.test'),
      makeCertificate(folder, 'mallory', clients, 'DNS:mallory.test'),
    ]
    const crl = join(folder, 'list.pem')
    writeFileSync(crl, makeCrl(folder, clients, [mallory]))
    const base = yaml(upstream.url, '').replace(
      'auth:',
      `auth:\n  client_certificate: { ca: "${clients.certFile}", crl: "${crl}", user: dns }`,
    )
    const quota = 'quota: { baselines: { personal: { read: { 1h: 9 } }, global: { read: { 1h: 9 } } } }'
    const routes = 'routes: [{ match: GET /x, category: read, cost: 1 }]'
    app = await startApp(`${base}\n${quota}\n${routes}\n${listed(pairs.first, pairs.exact)}`)
    for (const name of ['first.test', 'pay.shop.test']) {
      for (const [own, status] of [
        [alice, '200'],
        [mallory, '401'],
        [makeCa(folder, 'self'), '401'],
      ] as const) {
        const socket = await connectTo(name, own)
        socket.write('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        const text = (await socket.setEncoding('latin1').toArray()).join('')
        expect(text).toContain(`HTTP/1.1 ${status}`)
      }
    }
    expect(app.requests().flatMap(({ user }) => user ?? [])).toEqual(Array(2).fill('certificate:alice.test'))
  })
})
