import type { StoreLocation } from '../config.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding } from '../problems.ts'

type Options = NonNullable<PartialConfig['storeOptions']>

/** Logins and certificates must belong to the configured store. */
export function checkStore({ store, storeOptions }: PartialConfig): Finding[] {
  if (store === undefined || storeOptions === undefined) return []
  return CHECKS[store.kind](store as never, storeOptions)
}

type Check<K> = (store: Extract<StoreLocation, { kind: K }>, options: Options) => Finding[]

const CHECKS: { readonly [K in StoreLocation['kind']]: Check<K> } = { redis: checkRedis, sqlite: checkEmbedded }

function checkEmbedded(_store: StoreLocation, options: Options): Finding[] {
  return (['username', 'password', 'tls', 'sentinel'] as const)
    .filter((key) => options[key] !== null)
    .map((key) => problem(key, `${key} has no meaning for the embedded store: remove it`))
}

function checkRedis(store: Extract<StoreLocation, { kind: 'redis' }>, options: Options): Finding[] {
  const { username, password, tls, sentinel } = options
  const findings: Finding[] = []
  const asksByTls = sentinel?.tls !== undefined && sentinel.tls !== null && sentinel.tls !== false
  if (tls !== null && !store.encrypted && !asksByTls) {
    findings.push(problem('tls', `tls has no meaning for a store without TLS: ${WITH_TLS}`))
  }
  if (sentinel !== null && store.topology !== 'sentinel') {
    findings.push(problem('sentinel', 'sentinel has no meaning for a store without sentinels: remove it'))
  }
  if (username !== null && password === null) {
    findings.push(problem('username', 'username has no password beside it: add store_options.password'))
  }
  for (const [path, files] of [
    [['store_options', 'tls'], tls],
    [['store_options', 'sentinel', 'tls'], typeof sentinel?.tls === 'object' ? sentinel.tls : null],
  ] as const) {
    if (files !== null && (files.certFile === null) !== (files.keyFile === null)) {
      findings.push({ path, message: 'cert and key go together: add the other one' })
    }
  }
  return findings
}

const WITH_TLS = 'write rediss, rediss+sentinel or rediss+cluster under store, or remove it'

function problem(key: string, message: string): Finding {
  return { path: ['store_options'], key, message }
}
