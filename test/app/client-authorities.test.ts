import { once } from 'node:events'
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeEach, describe, expect, it } from 'vitest'
import { openCertificate } from '../../src/app/certificate.ts'
import { type ClientCertificateConfig, openClientAuthorities } from '../../src/app/client-authorities.ts'
import { certificateCaller } from '../../src/auth/client-certificate.ts'
import { callerOf } from '../../src/auth/verdict.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate, makeCrl } from '../setup/openssl.ts'

/** Real connections by TLS, each request of which is told whom its certificate names. */

let folder: string
let ca: Certificate
let server: Certificate
beforeEach(() => {
  folder = tempFolder()
  ca = makeCa(folder, 'ca')
  server = makeCertificate(folder, 'server', ca, 'IP:127.0.0.1')
})

const client = (altName: string, authority = ca, name = 'client') => makeCertificate(folder, name, authority, altName)
const named = (name: string) => callerOf(`certificate:${name}`, 'certificate')
const refusal = (reason: string) => ({ code: 'unauthorized', reason: `client certificate: ${reason}` })

describe('the name of a certificate', () => {
  it.each([
    ['uri', 'URI:spiffe://example.org/billing', 'spiffe://example.org/billing'],
    ['dns', 'DNS:billing.example.org,URI:x:y', 'billing.example.org'],
    ['email', 'email:billing@example.org', 'billing@example.org'],
    ['common_name', 'DNS:other', 'client'],
  ] as const)('the name of a certificate by %s is the user', async (user, altName, name) => {
    const { ask } = await start({ user })
    expect(await ask(client(altName))).toEqual(named(name))
  })

  it.each([
    ['none of the type', 'uri', 'DNS:a', 'it has no uri'],
    ['two of the type', 'dns', 'DNS:a,DNS:b', 'it has several dns'],
    ['one that can be no user', 'uri', `URI:${'a'.repeat(300)}`, 'its uri is no user id'],
  ] as const)('the name of a certificate is refused where there is %s', async (_, user, altName, reason) => {
    const { ask } = await start({ user })
    expect(await ask(client(altName))).toMatchObject(refusal(reason))
  })

  it('the name of a certificate is not taken from a text within another name', async () => {
    const { ask } = await start({ user: 'dns' })
    const uri = Buffer.from('x:a, DNS:admin')
    const der = Buffer.concat([Buffer.from([0x30, uri.length + 2, 0x86, uri.length]), uri])
    expect(await ask(client(`DER:${der.toString('hex')}`))).toMatchObject(refusal('it has no dns'))
  })
})

it('a client without a certificate is nobody, and is let connect', async () => {
  const { ask } = await start()
  expect(await ask(null)).toBe(null)
})

it('a client with one of another authority of the same name is refused', async () => {
  const other = mkdtempSync(join(folder, 'other-'))
  const { ask } = await start()
  const forged = makeCertificate(other, 'client', makeCa(other, 'ca'), 'DNS:alice')
  expect(await ask(forged)).toMatchObject({ code: 'unauthorized' })
  expect(await ask(client('DNS:alice'))).toEqual(named('alice'))
})

it('a client with one that it signed itself is refused', async () => {
  const { ask } = await start()
  expect(await ask(makeCa(folder, 'self'))).toMatchObject({ code: 'unauthorized' })
})

it('a client with one that is older than max_age is refused, also on a connection that is open', async () => {
  const self = await start({ maxAgeMs: 60 * 60_000 })
  const open = self.connect(client('DNS:alice'))
  expect(await open.ask()).toEqual(named('alice'))
  self.aheadMs = 61 * 60_000
  expect(await open.ask()).toMatchObject({ reason: expect.stringContaining('has ended') })
})

it('a client is refused when its certificate ends, also on a connection that is open', async () => {
  const self = await start()
  const open = self.connect(client('DNS:alice'))
  expect(await open.ask()).toEqual(named('alice'))
  self.aheadMs = 3 * 24 * 60 * 60_000
  expect(await open.ask()).toMatchObject({ reason: expect.stringContaining('has ended') })
})

it('a client resumes no session, with which an old certificate would come back', async () => {
  const self = await start()
  const alice = client('DNS:alice')
  const first = self.connect(alice)
  await first.ask()
  const again = self.connect(alice, first.session())
  expect(await again.ask()).toEqual(named('alice'))
  expect(again.isResumed()).toBe(false)
})

describe('new files', () => {
  it('new files of a revocation list are for open connections and new ones, and drop none', async () => {
    const crl = join(folder, 'list.pem')
    writeFileSync(crl, makeCrl(folder, ca, []))
    const self = await start({ crl })
    const [alice, bob] = [client('DNS:alice', ca, 'alice'), client('DNS:bob', ca, 'bob')]
    const [ofAlice, ofBob] = [self.connect(alice), self.connect(bob)]
    expect(await ofAlice.ask()).toEqual(named('alice'))
    expect(await ofBob.ask()).toEqual(named('bob'))

    replace(crl, makeCrl(folder, ca, [alice]))
    await expect.poll(() => ofAlice.ask(), { timeout: 10_000 }).toMatchObject(refusal('CERT_REVOKED'))
    expect(await ofBob.ask()).toEqual(named('bob'))
    expect(ofBob.connections()).toBe(1)
    expect(await self.ask(alice)).toMatchObject({ code: 'unauthorized' })
    expect(await self.ask(bob)).toEqual(named('bob'))
    expect(self.seen).toContainEqual(expect.objectContaining({ type: 'client_authorities_loaded', revoked: 1 }))
  })

  it('new files of authorities end the users of those that are gone, on open connections too', async () => {
    const next = makeCa(folder, 'next')
    const authorities = join(folder, 'clients.pem')
    writeFileSync(authorities, ca.cert + next.cert)
    const self = await start({ ca: authorities })
    const [old, fresh] = [client('DNS:old', ca, 'old'), client('DNS:fresh', next, 'fresh')]
    const [ofOld, ofFresh] = [self.connect(old), self.connect(fresh)]
    expect(await ofOld.ask()).toEqual(named('old'))
    expect(await ofFresh.ask()).toEqual(named('fresh'))

    replace(authorities, next.cert)
    await expect.poll(() => ofOld.ask(), { timeout: 10_000 }).toMatchObject({ code: 'unauthorized' })
    expect(await ofFresh.ask()).toEqual(named('fresh'))
    expect(ofFresh.connections()).toBe(1)
    expect(await self.ask(old)).toMatchObject({ code: 'unauthorized' })
  })

  it('new files that are none are reported, and the old ones stay', async () => {
    const authorities = join(folder, 'clients.pem')
    writeFileSync(authorities, ca.cert)
    const self = await start({ ca: authorities })
    replace(authorities, 'nothing')
    await expect.poll(() => self.seen.map(({ type }) => type), { timeout: 10_000 }).toContain('certificate_refused')
    expect(await self.ask(client('DNS:alice'))).toEqual(named('alice'))
  })

  it.each([
    ['ca', 'nothing', 'holds no CERTIFICATE in PEM: replace it'],
    [
      'ca',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      'is not one or more certificates in PEM: replace it',
    ],
    [
      'crl',
      '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----',
      'is not one or more revocation lists in PEM: replace it',
    ],
  ] as const)('new files cannot be begun with where %s is %j', async (key, text, message) => {
    const file = join(folder, 'some.pem')
    writeFileSync(file, text)
    await expect(start({ [key]: file })).rejects.toMatchObject({
      path: ['auth', 'client_certificate', key],
      message: `${file} ${message}`,
    })
  })
})

/** As a mounted Secret is replaced. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.next`, text)
  renameSync(`${file}.next`, file)
}

async function start(changes: Partial<ClientCertificateConfig> = {}) {
  const seen: Observation[] = []
  const observe = (observation: Observation) => void seen.push(observation)
  const authorities = openClientAuthorities(
    { ca: ca.certFile, crl: null, user: 'dns', maxAgeMs: null, ...changes },
    observe,
  )
  const certificate = authorities.asking(openCertificate([server], 'gateway', observe))
  const self = { aheadMs: 0, seen, connect, ask: (pair: Certificate | null) => connect(pair).ask() }
  const options = { ...certificate.current(), requestCert: true, rejectUnauthorized: false }
  const listener = https.createServer(options, (request, response) => {
    response.end(JSON.stringify(certificateCaller(request.socket, authorities.rules(), Date.now() + self.aheadMs)))
  })
  certificate.onChange(() => listener.setSecureContext(certificate.current()))
  const port = await listening(listener)
  atEnd(() => {
    certificate.close()
    listener.close()
    listener.closeAllConnections()
  })

  /** One connection that is kept. */
  function connect(pair: Certificate | null, session?: Buffer) {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0 })
    const sockets = new Set<TLSSocket>()
    let latest: Buffer | undefined
    atEnd(() => agent.destroy())
    async function ask(): Promise<unknown> {
      const tls = { ca: ca.cert, ...(pair !== null && { cert: pair.cert, key: pair.key }), ...(session && { session }) }
      const request = https.get({ host: '127.0.0.1', port, agent, ...tls })
      request.once('socket', (socket) => {
        sockets.add(socket as TLSSocket)
        socket.on('session', (bytes: Buffer) => {
          latest = bytes
        })
      })
      const [response] = await once(request, 'response')
      let text = ''
      for await (const chunk of response) text += chunk
      return JSON.parse(text)
    }
    return {
      ask,
      connections: () => sockets.size,
      session: () => latest,
      isResumed: () => [...sockets].some((socket) => socket.isSessionReused()),
    }
  }
  return self
}
