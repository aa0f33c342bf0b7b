import type { CredentialSource } from '../inputs/inputs.ts'
import { cookieValues } from '../lib/cookies.ts'
import { parameterValues } from '../lib/query-parameters.ts'
import { offeredIn } from '../lib/subprotocols.ts'
import { type Asking, linesOf, queryOf } from './asking.ts'

/**
 * What a request has in one source: mostly nothing or one text, which need not be a credential. An empty text stands behind a
 * scheme with nothing after it; elsewhere an empty value is none.
 */
export type Reader = (asking: Asking) => readonly string[]

export function readerOf(source: CredentialSource): Reader {
  switch (source.kind) {
    case 'bearer':
      return behindScheme('authorization', 'Bearer')
    case 'header':
      return source.scheme === null ? alone(source.name) : behindScheme(source.name.toLowerCase(), source.scheme)
    case 'cookie':
      return ({ req: { headers } }) => cookieValues(headers.cookie ?? '', source.name).filter(isThere)
    case 'query':
      return (asking) => parameterValues(queryOf(asking), source.name).filter(isThere).map(decoded)
    case 'websocket_protocol':
      return offeredBehind(source.name)
  }
}

function behindScheme(lower: string, scheme: string): Reader {
  const pattern = new RegExp(`^${scheme.replace(/\W/g, '\\$&')}(?: +(.*)|(?=[\\t,])(.*)|)$`, 'is')
  return (asking) =>
    linesOf(asking, lower).flatMap((line) => {
      const found = pattern.exec(line)
      return found === null ? [] : [found[1] ?? found[2] ?? '']
    })
}

/** `Authorization` has a scheme, so what has a space there belongs to somebody else. */
function alone(name: string): Reader {
  const lower = name.toLowerCase()
  const isOurs = lower === 'authorization' ? (line: string) => isThere(line) && !line.includes(' ') : isThere
  return (asking) => linesOf(asking, lower).filter(isOurs)
}

function offeredBehind(marker: string): Reader {
  const markers = new Set([marker])
  return ({ req: { headers }, res }) => {
    const list = res === null ? headers['sec-websocket-protocol'] : undefined
    return list === undefined ? [] : offeredIn(list, markers).credentials.map(([, credential]) => credential)
  }
}

function isThere(text: string): boolean {
  return text !== ''
}

/** As it stands if it cannot be decoded: `%` is in no credential. A plus sign is one, and may be in a credential. */
function decoded(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written
  }
}
