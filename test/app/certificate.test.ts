import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { checkPairs, openCertificate, readClientTls } from '../../src/app/certificate.ts'
import { SetupError } from '../../src/app/setup-error.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { tempFolder } from '../setup/at-end.ts'
import { type Certificate, makeCa, makeCertificate } from '../setup/openssl.ts'

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

it('the daily look at a certificate goes on if its key cannot be looked at any more', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const pair = makeCa(folder, 'one')
  const seen: Observation['type'][] = []
  const certificate = openCertificate([pair], 'gateway', ({ type }) => seen.push(type))
  try {
    rmSync(pair.keyFile)
    symlinkSync(pair.keyFile, pair.keyFile)
    seen.length = 0
    vi.advanceTimersByTime(24 * 60 * 60_000)
    expect(seen).toEqual(['certificate_loaded', 'certificate_expires'])
  } finally {
    certificate.close()
    vi.useRealTimers()
  }
})

it('a pair that is replaced as soon as the one before was read comes into force', async () => {
  const [pair, next] = [makeCa(folder, 'one'), makeCa(folder, 'next')]
  let isFirst = true
  const certificate = openCertificate([pair], 'gateway', () => {
    if (isFirst) {
      writeFileSync(pair.certFile, next.cert)
      writeFileSync(pair.keyFile, next.key)
    }
    isFirst = false
  })
  await expect.poll(() => certificate.current().cert).toBe(next.cert)
  certificate.close()
})

it('a certificate is refused until its files can be used again, also if they are those of before', async () => {
  const pair = makeCa(folder, 'one')
  const seen: Observation['type'][] = []
  const certificate = openCertificate([pair], 'gateway', ({ type }) => seen.push(type))
  const states = () => seen.filter((type) => type === 'certificate_loaded' || type === 'certificate_refused')
  writeFileSync(pair.certFile, 'garbage')
  await expect.poll(states, { timeout: 20_000 }).toEqual(['certificate_loaded', 'certificate_refused'])
  writeFileSync(pair.certFile, pair.cert)
  await expect.poll(() => states().at(-1), { timeout: 20_000 }).toBe('certificate_loaded')
  certificate.close()
})

it('a pipe in the place of a key is refused at once, and holds nothing up', () => {
  const pair = makeCa(folder, 'one')
  rmSync(pair.keyFile)
  execFileSync('mkfifo', [pair.keyFile])
  expect(() => openCertificate([pair], 'gateway', () => {})).toThrow(`${pair.keyFile} is not a regular file`)
})

it('a chain with a part that is broken is refused, though its first certificate is good', () => {
  const pair = makeCa(folder, 'one')
  writeFileSync(pair.certFile, `${pair.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`)
  expect(() => openCertificate([pair], 'gateway', () => {})).toThrow(`${pair.certFile} is not a chain that can be used`)
})

describe('the check of several certificates', () => {
  const checked = (...tls: readonly Certificate[]) =>
    checkPairs({ tls, admin: { tls: null }, auth: { clientCertificate: null } } as never)

  it('the check of several certificates names one that has ended, names that two have, and one that nobody gets, each at its place', () => {
    const ca = makeCa(folder, 'ca')
    const first = makeCertificate(folder, 'first', ca, 'DNS:a.test,DNS:*.b.test')
    const second = makeCertificate(folder, 'second', ca, 'DNS:A.test,DNS:c.b.test')
    const nameless = makeCertificate(folder, 'nameless', ca, 'IP:127.0.0.1')
    expect(checked(nameless)).toEqual([])
    vi.useFakeTimers({ now: Date.now() + 3 * 24 * 60 * 60_000, toFake: ['Date'] })
    const ended = checked(first)
    vi.useRealTimers()
    expect(ended).toEqual([{ path: ['tls'], message: expect.stringContaining(`${first.certFile} has ended`) }])
    expect(checked(first, second, nameless)).toEqual([
      { path: ['tls', 1], message: `a.test stands in ${first.certFile} too, which its clients get: remove one` },
      { path: ['tls', 2], message: `the certificate in ${nameless.certFile} has no name of a host: nobody gets it` },
    ])
  })

  it('the check of several certificates names one whose key is that of another', () => {
    const [first, second] = [makeCa(folder, 'first'), makeCa(folder, 'second')]
    const problem = { path: ['tls', 1], message: expect.stringContaining(`the key in ${first.keyFile} is not that`) }
    expect(() => checked(first, { ...second, keyFile: first.keyFile })).toThrow(expect.objectContaining(problem))
  })
})

const files = { caFile: null, certFile: null, keyFile: null, serverName: null }
const file = (text: string): string => {
  const path = join(folder, 'some.pem')
  writeFileSync(path, text)
  return path
}

it('the TLS of an upstream is taken as the files hold it, several authorities in one file too', () => {
  const [one, other] = [makeCa(folder, 'one'), makeCa(folder, 'other')]
  const caFile = file(`of one\n${one.cert}of the other\n${other.cert}`)
  const read = readClientTls({ caFile, certFile: one.certFile, keyFile: one.keyFile, serverName: 'backend.test' }, [
    'upstream',
    'tls',
  ])
  expect(read).toEqual({
    ca: readFileSync(caFile, 'utf8'),
    cert: readFileSync(one.certFile, 'utf8'),
    key: readFileSync(one.keyFile, 'utf8'),
    serverName: 'backend.test',
  })
})

it.each([
  ['nothing', ''],
  ['no certificate', 'garbage'],
  ['one that is broken', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
])(
  'the TLS of an upstream has no authorities in a file with %s: OpenSSL would pass over it and trust nobody',
  (_what, text) => {
    const caFile = file(text)
    const problem = {
      path: ['upstream', 'tls', 'ca'],
      message: expect.stringContaining(`${caFile} is not one or more`),
    }
    expect(() => readClientTls({ ...files, caFile }, ['upstream', 'tls'])).toThrow(expect.objectContaining(problem))
    expect(() => readClientTls({ ...files, caFile }, ['upstream', 'tls'])).toThrow(SetupError)
  },
)

it('the TLS of an upstream has no authorities in a file in which a broken one follows a good one', () => {
  const caFile = file(`${makeCa(folder, 'one').cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`)
  expect(() => readClientTls({ ...files, caFile }, ['upstream', 'tls'])).toThrow(`${caFile} is not one or more`)
})

it('the TLS of an upstream is refused if certificate and key are no pair', () => {
  const [{ certFile }, { keyFile }] = [makeCa(folder, 'one'), makeCa(folder, 'other')]
  const problem = { path: ['upstream', 'tls'], message: expect.stringContaining(`the key in ${keyFile} is not that`) }
  expect(() => readClientTls({ ...files, certFile, keyFile }, ['upstream', 'tls'])).toThrow(
    expect.objectContaining(problem),
  )
})
