import type { Denial } from '../errors.ts'
import type { CredentialSource } from '../inputs/credential-sources.ts'
import { type Read, readCookie } from '../lib/cookies.ts'
import { foldedParameter, unescaped } from '../lib/parameter-names.ts'
import { readParameter } from '../lib/query-parameters.ts'
import { offeredIn } from '../lib/subprotocols.ts'
import { type Asking, linesOf, opensWebSocket, queryOf } from './asking.ts'
import { unclear } from './verdict.ts'

/**
 * Reads one source of a request: usually nothing or one text, which need not be a credential. An empty text stands for a
 * scheme with nothing behind it. Any other empty value is left out.
 */
export type Reader = (asking: Asking) => readonly string[] | Denial

/** @param isForwarded whether the upstream gets the value too, so that both must read the same */
export function readerOf(source: CredentialSource, isForwarded = false): Reader {
  switch (source.kind) {
    case 'bearer':
      return behindScheme('authorization', 'Bearer')
    case 'header':
      return source.scheme === null
        ? alone(source.name, isForwarded)
        : behindScheme(source.name.toLowerCase(), source.scheme)
    case 'cookie':
      return clear(source.name, isForwarded, ({ req: { headers } }, name, folded) =>
        readCookie(headers.cookie ?? '', name, folded),
      )
    case 'query':
      return clear(source.name, isForwarded, (asking, name, folded) => {
        const { values, isUnclear } = readParameter(queryOf(asking), name, folded)
        return { values: values.map(unescaped), isUnclear }
      })
    case 'websocket_protocol':
      return offeredBehind(source.name)
  }
}

function clear(
  name: string,
  isForwarded: boolean,
  read: (asking: Asking, name: string, folded: string) => Read,
): Reader {
  const folded = foldedParameter(name)
  return (asking) => {
    const { values, isUnclear } = read(asking, name, folded)
    return isUnclear ? unclear() : withValue(values, isForwarded)
  }
}

/** The values that are not empty. If there is also an empty one, services differ about which they take. */
function withValue(values: readonly string[], isForwarded: boolean): readonly string[] | Denial {
  const there = values.filter((value) => value !== '')
  return isForwarded && there.length > 0 && there.length < values.length ? unclear() : there
}

function behindScheme(lower: string, scheme: string): Reader {
  const pattern = new RegExp(`^${scheme.replace(/\W/g, '\\$&')}(?: +(.*)|(?=[\\t,])(.*)|)$`, 'is')
  return (asking) =>
    linesOf(asking, lower).flatMap((line) => {
      const found = pattern.exec(line)
      return found === null ? [] : [found[1] ?? found[2] ?? '']
    })
}

/** In `Authorization` a value with a space has a scheme, so it is not a credential by itself. */
function alone(name: string, isForwarded: boolean): Reader {
  const lower = name.toLowerCase()
  if (lower === 'authorization')
    return (asking) => linesOf(asking, lower).filter((line) => line !== '' && !line.includes(' '))
  return (asking) => withValue(linesOf(asking, lower), isForwarded)
}

function offeredBehind(marker: string): Reader {
  const markers = new Set([marker])
  return (asking) => {
    const list = opensWebSocket(asking) ? asking.req.headers['sec-websocket-protocol'] : undefined
    return list === undefined ? [] : offeredIn(list, markers).credentials.map(([, credential]) => credential)
  }
}
