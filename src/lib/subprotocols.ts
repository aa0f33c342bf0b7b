/** The offers of a WebSocket handshake in `Sec-WebSocket-Protocol`. A page that can set no other field puts a credential there. */
export interface Offered {
  /** Each credential with the marker before it. */
  readonly credentials: readonly (readonly [marker: string, credential: string])[]
  /** The subprotocols that are meant for the service. */
  readonly others: readonly string[]
}

/**
 * Reads `bearer, CREDENTIAL` from a list. A marker at its end has no credential, and is a subprotocol.
 * @param markers with letter case, as subprotocols have it (RFC 6455, section 11.3.4)
 */
export function offeredIn(list: string, markers: ReadonlySet<string>): Offered {
  const names = list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const credentials: (readonly [string, string])[] = []
  const others: string[] = []
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const next = names[i + 1]
    if (next !== undefined && markers.has(name)) {
      credentials.push([name, next])
      i++
    } else others.push(name)
  }
  return { credentials, others }
}
