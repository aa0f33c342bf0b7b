import { constants, createPrivateKey, X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { ClientTls, Config, ListenerTls } from '../config/config.ts'
import { hashText } from '../config/hash.ts'
import { watchConfig } from '../config/watch.ts'
import { messageOf } from '../errors.ts'
import type { Certificate, ClientCredentials } from '../lib/tls.ts'
import type { Observer } from '../observe/observation.ts'
import { readClientAuthorities } from './client-authorities.ts'
import { made, named, read } from './pem-files.ts'

/**
 * TLS 1.3, and ciphers of TLS 1.2 with authenticated encryption and forward secrecy: Mozilla's "intermediate" list
 * without finite-field DHE. https://wiki.mozilla.org/Security/Server_Side_TLS
 */
const MODERN = {
  minVersion: 'TLSv1.2',
  ciphers: [
    ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ].join(':'),
  // Otherwise a client of TLS 1.2 could repeat the most expensive part of a handshake on one connection.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const

const DAY_MS = 24 * 60 * 60_000
/** How long before its end a certificate is reported, once a day. */
const WARN_MS = 14 * DAY_MS

interface Pair {
  readonly cert: string
  readonly key: string
  readonly options: SecureContextOptions
  /** Host names in lower case. */
  readonly names: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * The certificates of a listener. With several, the client chooses by the requested name: the first certificate with that name, or else
 * the first of all.
 * @param listener the name for reports
 * @throws Error with the cure, if the files of a certificate are no valid pair
 */
export function openCertificate(
  files: readonly ListenerTls[],
  listener: 'gateway' | 'admin',
  observe: Observer,
): Certificate {
  const listeners: (() => void)[] = []
  const changed = (): void => {
    for (const each of listeners) each()
  }
  // All pairs are read before the first is watched, because nobody would end its watch if a later pair is invalid.
  const read = files.map((tls) => [tls, readPair(tls)] as const)
  const pairs = read.map(([tls, pair]) => openPair(tls, pair, { listener, observe, changed }))
  const current = (): SecureContextOptions => (pairs[0] as OpenPair).current().options
  return {
    current,
    byName: () => (pairs.length === 1 ? new Map() : byName(pairs.map((each) => each.current()))),
    onChange: (each) => void listeners.push(each),
    close() {
      for (const each of pairs) each.close()
    },
  }
}

function byName(pairs: readonly Pair[]): Map<string, SecureContextOptions> {
  return new Map(pairs.toReversed().flatMap(({ names, options }) => names.map((name) => [name, options] as const)))
}

interface OpenPair {
  current(): Pair
  close(): void
}

interface PairOptions {
  readonly listener: 'gateway' | 'admin'
  readonly observe: Observer
  readonly changed: () => void
}

/**
 * Uses a new pair of files for later connections. The pair may also change through a link, as in a mounted Secret.
 * Files that are no pair are reported, and the old pair stays.
 */
function openPair(tls: ListenerTls, first: Pair, { listener, observe, changed }: PairOptions): OpenPair {
  let pair = first
  let isRefused = false
  report()
  // Each watch looks at its own file but reads both, so the later change brings the whole pair.
  const watches = [
    watchConfig(tls.certFile, reread, { loadedHash: hashText(pair.cert) }),
    watchConfig(tls.keyFile, reread, { loadedHash: hashText(pair.key) }),
  ]
  const daily = setInterval(report, DAY_MS).unref()

  function report(): void {
    // While newer files are refused, this report would end the fault that metrics and readiness show.
    if (!isRefused) observe({ type: 'certificate_loaded', listener, file: tls.certFile, expiresAt: pair.expiresAt })
    if (isOpenToAll(tls.keyFile)) observe({ type: 'config_warning', file: tls.keyFile, problem: OPEN_TO_ALL })
    const leftMs = pair.expiresAt - Date.now()
    if (leftMs < WARN_MS) observe({ type: 'certificate_expires', listener, file: tls.certFile, leftMs })
  }

  function reread(): void {
    try {
      const next = readPair(tls)
      // The same certificate has the same key, so nothing has changed. After a refusal it means that the old files were restored.
      if (next.cert === pair.cert && !isRefused) return
      isRefused = false
      pair = next
      changed()
      report()
    } catch (error) {
      isRefused = true
      observe({
        type: 'certificate_refused',
        listener,
        files: 'pair',
        file: tls.certFile,
        problem: messageOf(error),
      })
    }
  }

  return {
    current: () => pair,
    close() {
      for (const watch of watches) watch.close()
      clearInterval(daily)
    },
  }
}

const OPEN_TO_ALL = 'everybody on this machine can read this key: give it the mode 0400, or 0440 for a group'

/** Whether everybody on this machine can read the file. An error counts as no: it is reported when the file is read again. */
function isOpenToAll(file: string): boolean {
  try {
    return (statSync(file).mode & 0o004) !== 0
  } catch {
    return false
  }
}

/** A problem with a pair, and its place in the configuration. */
export interface PairProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/**
 * Reads the pairs of files in a configuration, and the authorities of clients.
 * @returns problems of valid pairs: certificates that have expired, so that clients refuse them, and names that another pair serves
 * @throws SetupError with the cure, for the first invalid file
 */
export function checkPairs({ tls, admin, auth }: Pick<Config, 'tls' | 'admin' | 'auth'>): PairProblem[] {
  if (auth.clientCertificate !== null) readClientAuthorities(auth.clientCertificate)
  const own = (tls ?? []).map((files, i, all) => readAt(files, all.length === 1 ? ['tls'] : ['tls', i]))
  const ofAdmin = admin.tls === null ? [] : [readAt(admin.tls, ['admin', 'tls'])]
  return [...[...own, ...ofAdmin].flatMap(endedProblem), ...nameProblems(own)]
}

interface PairAt extends Pair {
  readonly path: readonly (string | number)[]
  readonly certFile: string
}

function readAt(files: ListenerTls, path: readonly (string | number)[]): PairAt {
  return { ...named(path, () => readPair(files)), path, certFile: files.certFile }
}

function endedProblem({ path, certFile, expiresAt }: PairAt): PairProblem[] {
  if (expiresAt > Date.now()) return []
  const ended = new Date(expiresAt).toISOString()
  return [{ path, message: `the certificate in ${certFile} has ended (${ended}): replace it and its key` }]
}

/** The first pair needs no name, because it serves every name that no other pair has. */
function nameProblems(pairs: readonly PairAt[]): PairProblem[] {
  const first = new Map<string, string>()
  return pairs.flatMap(({ path, certFile, names }, i): PairProblem[] => {
    const twice = names.filter((name) => first.has(name))
    for (const name of names) if (!first.has(name)) first.set(name, certFile)
    const problems = twice.map((name) => `${name} stands in ${first.get(name)} too, which its clients get: remove one`)
    if (i > 0 && names.length === 0)
      problems.push(`the certificate in ${certFile} has no name of a host: nobody gets it`)
    return problems.map((message) => ({ path, message }))
  })
}

/**
 * Reads the files for the gateway's own connections.
 * @param path of the section that names them
 * @throws SetupError with the cure, if they cannot be used
 */
export function readClientTls(
  { caFile, certFile, keyFile, serverName }: ClientTls,
  path: readonly string[],
): ClientCredentials {
  const pair = certFile === null || keyFile === null ? null : named(path, () => readPair({ certFile, keyFile }))
  return {
    ...(caFile !== null && { ca: named([...path, 'ca'], () => readAuthorities(caFile)) }),
    ...(pair !== null && { cert: pair.cert, key: pair.key }),
    ...(serverName !== null && { serverName }),
  }
}

/** Reads each certificate, because OpenSSL skips those that it cannot read, and would then accept no certificate of the peer. */
function readAuthorities(file: string): string {
  const pem = read(file)
  made(file, 'one or more certificates in PEM', () => {
    for (const certificate of pem.match(CERTIFICATE) ?? [pem]) new X509Certificate(certificate)
  })
  return pem
}

const CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[\s\S]*?-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g

/** @throws Error with the cure */
function readPair({ certFile, keyFile }: ListenerTls): Pair {
  const [cert, key] = [read(certFile), read(keyFile)]
  const leaf = made(certFile, 'a certificate in PEM', () => new X509Certificate(cert))
  const secret = made(keyFile, 'a private key in PEM without a password', () => createPrivateKey(key))
  if (!leaf.checkPrivateKey(secret)) {
    throw new Error(`the key in ${keyFile} is not that of the first certificate in ${certFile}: replace both together`)
  }
  const options = { ...MODERN, cert, key }
  made(certFile, 'a chain that can be used', () => createSecureContext(options))
  return { cert, key, options, names: hostNamesOf(leaf), expiresAt: leaf.validToDate.getTime() }
}

/** The host names in subjectAltName, the only place where browsers look. A name with a comma or a quote, which Node quotes, is left out. */
function hostNamesOf({ subjectAltName = '' }: X509Certificate): string[] {
  const names = subjectAltName.split(', ').flatMap((name) => /^DNS:([\w*.-]+)$/.exec(name)?.[1]?.toLowerCase() ?? [])
  return [...new Set(names)]
}
