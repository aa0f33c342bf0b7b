import { OPEN_EDGE, unverifiedKeys } from '../suggest/openness.ts'

export interface Trial {
  readonly upstream: string
  /** HOST:PORT of both listeners. */
  readonly listen: string
  readonly admin: string
  /** The header field with the callers' credentials. In `Authorization` the credential is what follows `Bearer`. */
  readonly key: string
  /** The token for the admin listener. */
  readonly token: string
  /** The path of the SQLite file. */
  readonly store: string
}

/**
 * A configuration that refuses as little as possible: no quota, no credential, and every spelling of a path that is valid HTTP. The
 * service sees the credential, because only it can check it. An open WebSocket does not delay Ctrl-C for half a minute.
 */
export function trialConfig({ upstream, listen, admin, key, token, store }: Trial): string {
  const value = (text: string): string => escaped(JSON.stringify(text))
  return `listen: ${value(listen)}
upstream: { url: ${value(upstream)}, pass_authorization: true }
store: ${value(`sqlite:${store}`)}
time_zone: ${value(Intl.DateTimeFormat().resolvedOptions().timeZone)}
admin: { listen: ${value(admin)}, token: ${value(token)} }
auth:
  gateway_tokens: false
  from: []
  several: first
  unverified_keys: ${escaped(unverifiedKeys(key))}
  anonymous: { by: address }
  shadow: true
quota: { shadow: true }
usage: { anonymous: 1d }
routes:
  - { match: "GET|HEAD|OPTIONS /*", category: read }
  - { match: "* /*", category: write }
edge:
  lenient: ${OPEN_EDGE.lenient}
  allow_in_path: ${OPEN_EDGE.allow_in_path}
  shares: ${OPEN_EDGE.shares}
log: { level: warn, requests: none }
drain: { timeout: 2s }
`
}

/** Escapes `${`, which would begin a variable of the environment. */
function escaped(text: string): string {
  return text.replaceAll('${', () => '$${')
}
