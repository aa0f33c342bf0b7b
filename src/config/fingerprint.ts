import { createHash } from 'node:crypto'
import { onceForEach } from '../lib/memo.ts'
import type { Config } from './config.ts'
import type { Parsed } from './schema.ts'

/**
 * A hash that shows whether replicas have the same limits, rules, issuers and path spellings, as 16 hexadecimal digits.
 * Values of environment variables and the public keys in a file count. Comments, and addresses and sizes of single
 * replicas, do not count. No secret goes into the hash.
 */
export const fingerprint = onceForEach((config: Config): string => digest(decisive(config)))

/** A hash of the rules alone. Hashing many rules takes long, so it is done once, where the file is read, and kept in the configuration. */
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
