import { randomBytes } from 'node:crypto'
import { openProvider } from '../../auth/introspection-provider.ts'
import { fetchJson, keySetUrl, why } from '../../auth/jwks-fetch.ts'
import { type ReadKeySet, readKeySet } from '../../auth/key-set.ts'
import type { Config, IssuerConfig } from '../../config/config.ts'
import { counted } from '../../lib/counted.ts'
import type { Tried } from './tried.ts'

/** Whether each issuer whose keys are fetched has keys for its allowed algorithms. */
export async function tryIssuers({ auth }: Config): Promise<Tried[]> {
  const all = await Promise.all(auth.jwt.map((issuer, i) => tryIssuer(issuer, ['auth', 'jwt', i])))
  return all.flat()
}

async function tryIssuer({ keys, algorithms }: IssuerConfig, path: readonly (string | number)[]): Promise<Tried[]> {
  if (keys.kind !== 'url') return []
  const place = [...path, 'jwks']
  try {
    const { json } = await fetchJson(keySetUrl(keys.url), new AbortController().signal)
    return keysTried(await readKeySet(json), algorithms, place)
  } catch (error) {
    const message = `${why(error)}: write the address of the key set under jwks, and let this machine reach it`
    return [{ path: place, result: 'failed', message }]
  }
}

function keysTried(
  { keys, count, refused }: ReadKeySet,
  algorithms: readonly string[],
  path: readonly (string | number)[],
): Tried[] {
  const missing = algorithms.filter((algorithm) => (keys.get(algorithm)?.length ?? 0) === 0)
  const faults = refused.length === 0 ? '' : ` (${refused.join('; ')})`
  if (missing.length === algorithms.length) {
    const has = [...keys.keys()].filter((algorithm) => (keys.get(algorithm)?.length ?? 0) > 0)
    const cure = has.length === 0 ? 'publish one' : `it has keys for ${has.join(', ')}: write those under algorithms`
    return [{ path, result: 'failed', message: `the set has no key for ${missing.join(', ')}${faults}: ${cure}` }]
  }
  const without = missing.length === 0 ? '' : `, and none for ${missing.join(', ')}`
  const good = algorithms.filter((algorithm) => !missing.includes(algorithm))
  const message = `answers 200 with ${counted(count, 'key')}, for ${good.join(', ')}${without}${faults}`
  return [{ path, result: 'good', message }]
}

/** Whether each provider says that a made-up credential is not active. */
export async function tryIntrospection({ auth }: Config): Promise<Tried[]> {
  return Promise.all(
    auth.introspection.map(async ({ url, clientId, clientSecret }, i): Promise<Tried> => {
      const path = ['auth', 'introspection', i, 'url']
      const provider = openProvider({ url, clientId, clientSecret }, () => {})
      const found = await provider.ask(randomBytes(16).toString('hex'), { isKnown: false, party: 'check' })
      provider.close()
      if ('problem' in found) {
        const cure = 'correct url, client_id and client_secret, and let this machine reach it'
        return { path, result: 'failed', message: `${found.problem}: ${cure}` }
      }
      return { path, result: 'good', message: 'knows us, and knows nothing of a made-up credential' }
    }),
  )
}
