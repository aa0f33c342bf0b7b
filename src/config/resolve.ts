import { dirname, isAbsolute, join } from 'node:path'
import { isMonth } from '../quota/period-days.ts'
import type { ClientTls, Config, IssuerKeys, Listen, ListenerTls, StoreConfig } from './config.ts'
import { rulesHash } from './fingerprint.ts'
import { lineOf } from './locate.ts'
import type { Path } from './problems.ts'
import type { Parsed } from './schema.ts'
import type { Tree } from './tree.ts'

/** Adds what depends on a value's place: its line, and the target of a path, which is relative to the file. */
export function resolve(parsed: Parsed, tree: Tree, file: string): Config {
  const { upstream, admin, auth, quota, reference, errors, store, decisions } = parsed
  return {
    ...parsed,
    file,
    tls: parsed.tls?.map((pair) => pairBeside(pair, file)) ?? null,
    upstream: {
      ...upstream,
      url: upstream.url ?? BEHIND_A_SOCKET,
      socket: beside(upstream.socket, file),
      tls: clientTls(upstream.tls, file),
    },
    store: { ...store, tls: clientTls(store.tls, file), sentinel: sentinelOf(store.sentinel, file) },
    admin: { ...admin, tls: admin.tls && pairBeside(admin.tls, file) },
    auth: {
      ...auth,
      jwt: auth.jwt.map((issuer) => ({ ...issuer, keys: issuerKeys(issuer.keys, file) })),
      clientCertificate: clientCertificate(auth.clientCertificate, file),
    },
    quota: {
      ...quota,
      ...(areDaysNamed(parsed) && { hasNamedDays: true }),
      lines: {
        baselines: linesOf(quota.baselines, ['quota', 'baselines'], tree),
        custom: linesOf(quota.custom ?? {}, ['quota', 'custom'], tree),
        plans: linesOf(quota.plans ?? new Map(), ['quota', 'plans'], tree),
      },
    },
    rulesHash: rulesHash(parsed.routes),
    routes: parsed.routes.map((route, i) => ({ ...route, line: lineOf(tree, ['routes', i, 'match']) ?? 1 })),
    decisions: decisions && { ...decisions, listen: listenBeside(decisions.listen, file) },
    errors: new Map([...errors].map(([code, body]) => [code, { ...body, file: beside(body.file, file) }])),
    reference: reference && { ...reference, openapi: beside(reference.openapi, file) },
  }
}

/** Whether a claim, or a service that asks for decisions, can name the first day of a user's months. */
function areDaysNamed({ auth, decisions, quota }: Parsed): boolean {
  const isClaimed = [...auth.jwt, ...auth.introspection].some(({ periodDayClaim }) => periodDayClaim !== null)
  return isClaimed || (decisions !== null && quota.windows.some(isMonth))
}

/** The URL of an upstream on a Unix socket, if the file has none. The host name is never resolved. */
const BEHIND_A_SOCKET = 'http://localhost'

function beside<T extends string | null>(path: T, file: string): T | string {
  return path === null || isAbsolute(path) ? path : join(dirname(file), path)
}

function listenBeside(listen: Listen, file: string): Listen {
  return 'socket' in listen ? { socket: beside(listen.socket, file) } : listen
}

function pairBeside({ certFile, keyFile }: ListenerTls, file: string): ListenerTls {
  return { certFile: beside(certFile, file), keyFile: beside(keyFile, file) }
}

function sentinelOf(sentinel: Parsed['store']['sentinel'], file: string): StoreConfig['sentinel'] {
  if (sentinel === null || typeof sentinel.tls === 'boolean') return sentinel
  return { ...sentinel, tls: clientTls(sentinel.tls, file) }
}

function clientCertificate(parsed: Parsed['auth']['clientCertificate'], file: string) {
  return parsed && { ...parsed, ca: beside(parsed.ca, file), crl: beside(parsed.crl, file) }
}

function clientTls(tls: Parsed['upstream']['tls'], file: string): ClientTls | null {
  if (tls === null) return null
  const { caFile, certFile, keyFile } = tls
  return { ...tls, caFile: beside(caFile, file), certFile: beside(certFile, file), keyFile: beside(keyFile, file) }
}

function issuerKeys(keys: IssuerKeys, file: string): IssuerKeys {
  return keys.kind === 'file' ? { ...keys, path: beside(keys.path, file) } : keys
}

/** The same maps and objects with the line of each value in its place. Values that the file lacks are left out. */
function linesOf<T>(value: T, path: Path, tree: Tree): T {
  const inside = (entries: Iterable<[string, unknown]>) =>
    [...entries]
      .map(([key, each]) => [key, linesOf(each, [...path, key], tree)] as const)
      .filter(([, line]) => line !== null)
  if (value instanceof Map) return new Map(inside(value)) as T
  return (typeof value === 'object' ? Object.fromEntries(inside(Object.entries(value ?? {}))) : lineOf(tree, path)) as T
}
