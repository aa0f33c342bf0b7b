export interface Trial {
  readonly upstream: string
  /** HOST:PORT of both listeners. */
  readonly listen: string
  readonly admin: string
  /** The header field with the callers' credentials, which of `Authorization` is what follows `Bearer`. */
  readonly key: string
  /** For the admin listener. */
  readonly token: string
  /** The path of the SQLite file. */
  readonly store: string
}

/**
 * A configuration that refuses as little as a gateway can: no quota, no credential, and each spelling of a path that is no fault of
 * HTTP. The service sees the credential, since only it can check it. An open WebSocket does not keep Ctrl-C waiting for half a minute.
 */
export function trialConfig({ upstream, listen, admin, key, token, store }: Trial): string {
  // `${` would name a variable of the environment.
  const value = (text: string): string => JSON.stringify(text).replaceAll('${', () => '$${')
  return `listen: ${value(listen)}
upstream: { url: ${value(upstream)}, pass_authorization: true }
store: ${value(`sqlite:${store}`)}
time_zone: ${value(Intl.DateTimeFormat().resolvedOptions().timeZone)}
admin: { listen: ${value(admin)}, token: ${value(token)} }
auth:
  gateway_tokens: false
  from: []
  several: first
  unverified_keys: { header: ${value(key)}${/^authorization$/i.test(key) ? ', scheme: Bearer' : ''}, user_claim: sub }
  anonymous: { by: address }
  shadow: true
quota: { shadow: true }
usage: { anonymous: 1d }
routes:
  - { match: "GET|HEAD|OPTIONS /*", category: read }
  - { match: "* /*", category: write }
edge:
  lenient: [underscore_names, non_utf8_path, encoded_percent, encoded_backslash]
  allow_in_path: [encoded_slash, semicolon, empty_segment]
  shares: { address: none, user: none, tunnels: { user: none } }
log: { level: warn, requests: none }
drain: { timeout: 2s }
`
}
