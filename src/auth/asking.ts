import type { IncomingMessage } from 'node:http'
import { valuesIn } from '../lib/field-names.ts'

/** What a request says of who asks. */
export interface Asking {
  readonly req: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'url' | 'method'> &
    Partial<Pick<IncomingMessage, 'socket'>>
  /** `null` for an upgrade. */
  readonly res: object | null
  /** The peer, as the socket has it. */
  readonly client: { readonly address: string }
}

/** Whether a request opens a WebSocket: as an upgrade, or as the plain request that is left of it behind a proxy that shows no upgrade. */
export function opensWebSocket({ req, res }: Asking): boolean {
  return res === null || req.headers['sec-websocket-key'] !== undefined
}

/** The values of a field, as `valuesIn` reads them. */
export function linesOf({ req: { rawHeaders } }: Asking, lower: string): string[] {
  return valuesIn(rawHeaders, lower)
}

export function queryOf({ req: { url = '' } }: Asking): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark)
}
