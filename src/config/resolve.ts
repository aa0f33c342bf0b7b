import { dirname, isAbsolute, join } from 'node:path'
import type { LimitTable, PlanLimits, Plans, ScopedLimits } from '../quota/limit-layers.ts'
import type { ClientTls, Config, IssuerKeys, ListenerTls, StoreConfig } from './config.ts'
import { rulesHash } from './fingerprint.ts'
import { lineOf } from './locate.ts'
import type { Path } from './problems.ts'
import type { Parsed } from './schema.ts'
import type { Tree } from './tree.ts'

/** Adds what the place of a value decides: its line in the file, and where a path leads, which is relative to the file. */
export function resolve(parsed: Parsed, tree: Tree, file: string): Config {
  const { upstream, admin, auth, quota, reference, errors, store } = parsed
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
      baselineLines: linesOf(quota.baselines, 'baselines', tree),
      customLines: linesOf(quota.custom ?? NO_LIMITS, 'custom', tree),
      planLines: planLinesOf(quota.plans, tree),
    },
    rulesHash: rulesHash(parsed.routes),
    routes: parsed.routes.map((route, i) => ({ ...route, line: lineOf(tree, ['routes', i, 'match']) ?? 1 })),
    errors: new Map([...errors].map(([code, body]) => [code, { ...body, file: beside(body.file, file) }])),
    reference: reference && { ...reference, openapi: beside(reference.openapi, file) },
  }
}

/** Nobody is asked for this name. */
const BEHIND_A_SOCKET = 'http://localhost'

function beside<T extends string | null>(path: T, file: string): T | string {
  return path === null || isAbsolute(path) ? path : join(dirname(file), path)
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

const NO_LIMITS: ScopedLimits = { personal: new Map(), global: new Map() }

function linesOf(limits: ScopedLimits, key: 'baselines' | 'custom', tree: Tree): ScopedLimits {
  const ofScope = (scope: 'personal' | 'global') => tableLines(limits[scope], ['quota', key, scope], tree)
  return { personal: ofScope('personal'), global: ofScope('global') }
}

function planLinesOf(plans: Plans = new Map(), tree: Tree): Plans {
  const of = (plan: string, limits: PlanLimits, scope: keyof PlanLimits) =>
    tableLines(limits[scope], ['quota', 'plans', plan, scope], tree)
  return new Map(
    [...plans].map(([plan, limits]) => [
      plan,
      { personal: of(plan, limits, 'personal'), organisation: of(plan, limits, 'organisation') },
    ]),
  )
}

function tableLines(table: LimitTable, path: Path, tree: Tree): LimitTable {
  return new Map(
    [...table].map(([category, byWindow]) => {
      const lines = [...byWindow.keys()].map((name) => [name, lineOf(tree, [...path, category, name])])
      return [category, new Map(lines.filter((entry): entry is [string, number] => entry[1] !== null))]
    }),
  )
}
