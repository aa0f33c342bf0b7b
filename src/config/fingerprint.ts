import { createHash } from 'node:crypto'
import { onceForEach } from '../lib/memo.ts'
import type { Config } from './config.ts'
import type { Parsed } from './schema.ts'

/**
 * What a configuration decides about requests, as 16 hexadecimal digits, so that replicas with the same digits decide
 * alike. Environment variables and the public keys in a file count. Comments, and addresses and sizes of single
 * replicas, do not. It contains no secret.
 */
export const fingerprint = onceForEach((config: Config): string => digest(decisive(config)))

/** For the rules alone. Many rules take long, so the hash is part of the configuration and is made where the file is read. */
export function rulesHash(routes: readonly Parsed['routes'][number][]): string {
  return digest(routes)
}

function digest(value: unknown): string {
  const text = JSON.stringify(value, (_key, it) => (it instanceof Map ? [...it] : it))
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function decisive({ timeZone, usage, auth, quota, rulesHash, unmatched, edge, cors }: Config): unknown {
  const { lines: _, ...limits } = quota
  const issuers = auth.jwt.map(({ keys, ...issuer }) =>
    keys.kind === 'file' ? { ...issuer, keys: keys.hash } : issuer,
  )
  const introspection = auth.introspection.map(({ clientSecret: _, ...provider }) => provider)
  const certificates = auth.clientCertificate && [auth.clientCertificate.user, auth.clientCertificate.maxAgeMs]
  const paths = [edge.allowInPath, edge.folding, edge.lenient, cors?.preflight]
  return [
    timeZone,
    usage.zone,
    auth.gatewayTokens,
    issuers,
    introspection,
    certificates,
    limits,
    rulesHash,
    unmatched,
    ...paths,
  ]
}
