import type { IncomingMessage } from 'node:http'
import { valuesIn } from '../lib/field-names.ts'

/** The parts of a request that may identify its caller. */
export interface Asking {
  readonly req: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'url' | 'method'> &
    Partial<Pick<IncomingMessage, 'socket'>>
  /** `null` for an upgrade. */
  readonly res: object | null
  /** The peer, with the address that the socket has. */
  readonly client: { readonly address: string }
}

/** Whether a request opens a WebSocket, either as an upgrade or as the plain request that a proxy has made of one. */
export function opensWebSocket({ req, res }: Asking): boolean {
  return res === null || req.headers['sec-websocket-key'] !== undefined
}

/** The values of a header field, as `valuesIn` reads them. */
export function linesOf({ req: { rawHeaders } }: Asking, lower: string): string[] {
  return valuesIn(rawHeaders, lower)
}

export function queryOf({ req: { url = '' } }: Asking): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark)
}
