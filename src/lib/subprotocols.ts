/** What a WebSocket handshake offers in `Sec-WebSocket-Protocol`, where a page that can set no other field has put a credential. */
export interface Offered {
  /** What stands behind a marker, with the marker. */
  readonly credentials: readonly (readonly [marker: string, credential: string])[]
  /** The subprotocols that are meant for the service. */
  readonly others: readonly string[]
}

/**
 * Reads `bearer, CREDENTIAL` out of a list. A marker at its end has no credential, and is a subprotocol like the others.
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
