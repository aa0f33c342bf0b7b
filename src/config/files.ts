import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { unreadable } from '../errors.ts'
import { ENDLESS, isEndless } from '../lib/regular-file.ts'
import { MAX_SOCKET_PATH } from './addresses.ts'
import type { ClientTls, Config, ListenerTls } from './config.ts'
import { type Finding, type Path, quote } from './problems.ts'

/** What is wrong with the files in a configuration. A socket may be missing, because its server may start later. */
export async function unusableFiles(config: Config): Promise<Finding[]> {
  const findings = await Promise.all(namedFiles(config).map(async ([path, file]) => problemOf(path, file)))
  return [...findings, longSocket(config)].filter((finding) => finding !== null)
}

/** A problem if the path of `upstream.socket` is too long. The system would cut it, and connect to another file. */
function longSocket({ upstream: { socket } }: Config): Finding | null {
  if (socket === null || Buffer.byteLength(socket) <= MAX_SOCKET_PATH) return null
  const message = `${quote(socket)} has more than ${MAX_SOCKET_PATH} bytes: choose a shorter path`
  return { path: ['upstream', 'socket'], message }
}

function namedFiles({ auth, upstream, store, reference, ...own }: Config): (readonly [Path, string])[] {
  const keys = auth.jwt.flatMap((issuer, i) =>
    issuer.keys.kind === 'file' ? [[['auth', 'jwt', i, 'jwks'], issuer.keys.path] as const] : [],
  )
  const tls = [
    ...ofClient(['upstream', 'tls'], upstream.tls),
    ...ofClient(['store_options', 'tls'], store.tls),
    ...ofClient(['store_options', 'sentinel', 'tls'], tlsOfSentinels(store)),
  ]
  const { ca = null, crl = null } = auth.clientCertificate ?? {}
  const clients = Object.entries({ ca, crl }).flatMap(([key, file]) =>
    file === null ? [] : [[['auth', 'client_certificate', key], file] as const],
  )
  const openapi = reference?.openapi ?? null
  const listeners = [
    ...(own.tls ?? []).flatMap((pair, i, all) => ofListener(all.length === 1 ? ['tls'] : ['tls', i], pair)),
    ...ofListener(['admin', 'tls'], own.admin.tls),
  ]
  return [
    ...keys,
    ...clients,
    ...tls,
    ...listeners,
    ...(openapi === null ? [] : [[['reference', 'openapi'], openapi] as const]),
  ]
}

/** The files with the authorities of the upstream and of the store. They are read together with the configuration. */
export function authoritiesIn({ upstream, store }: Config): string[] {
  return [upstream.tls, store.tls, tlsOfSentinels(store)].flatMap((tls) => tls?.caFile ?? [])
}

function tlsOfSentinels({ sentinel }: Config['store']): ClientTls | null {
  return typeof sentinel?.tls === 'object' ? sentinel.tls : null
}

function ofClient(path: Path, tls: ClientTls | null): (readonly [Path, string])[] {
  const { caFile = null, certFile = null, keyFile = null } = tls ?? {}
  return Object.entries({ ca: caFile, cert: certFile, key: keyFile }).flatMap(([key, file]) =>
    file === null ? [] : [[[...path, key], file] as const],
  )
}

function ofListener(path: Path, tls: ListenerTls | null): (readonly [Path, string])[] {
  if (tls === null) return []
  return [
    [[...path, 'cert'], tls.certFile],
    [[...path, 'key'], tls.keyFile],
  ]
}

async function problemOf(path: Path, file: string): Promise<Finding | null> {
  try {
    await access(file, constants.R_OK)
    return isEndless(await stat(file)) ? { path, message: `${quote(file)} ${unreadable(ENDLESS)}` } : null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { path, message: `${quote(file)} ${unreadable(code)}` }
  }
}
