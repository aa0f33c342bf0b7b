import { createHash } from 'node:crypto'
import { onceForEach } from '../lib/memo.ts'
import type { Config } from './config.ts'
import type { Parsed } from './schema.ts'

/**
 * A hash that shows whether replicas have the same limits, rules, callers and path spellings, as 16 hexadecimal digits.
 * Values of environment variables and the public keys in a file count. Comments, the order of rules and of names, and
 * addresses and sizes of single replicas do not count. No secret goes into the hash.
 */
export const fingerprint = onceForEach((config: Config): string => digest(decisive(config)))

/**
 * A hash of the rules alone, in any order. Hashing many rules takes long, so it is done once, where the file is read, and
 * kept in the configuration.
 */
export function rulesHash(routes: readonly Parsed['routes'][number][]): string {
  return digest(routes.map(digest).sort())
}

function digest(value: unknown): string {
  const text = JSON.stringify(value, (_key, it) => (it instanceof Map ? [...it].sort() : it))
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Of `auth` and `quota` a key counts unless it is taken out here, so that a new key is not forgotten. */
function decisive({ timeZone, usage, auth, quota, rulesHash, unmatched, edge, cors }: Config): unknown {
  const { lines: _, categories: __, ...limits } = quota
  const { credentialCache: ___, ...callers } = auth
  const jwt = auth.jwt.map(({ keys, ...issuer }) => ({
    ...issuer,
    keys: keys.kind === 'url' ? keys.url : keys.kind === 'file' ? keys.hash : null,
  }))
  const introspection = auth.introspection.map(({ clientSecret: _, ...provider }) => provider)
  // The gateway reads these files again whenever they change, so what they held at its start does not matter.
  const files = { ca: null, crl: auth.clientCertificate?.crl != null }
  const clientCertificate = auth.clientCertificate && { ...auth.clientCertificate, ...files }
  const paths = [edge.allowInPath, edge.folding, edge.lenient, cors?.preflight]
  return [
    timeZone,
    usage.zone,
    { ...callers, jwt, introspection, clientCertificate },
    limits,
    rulesHash,
    unmatched,
    edge.trustedProxies,
    ...paths,
  ]
}
