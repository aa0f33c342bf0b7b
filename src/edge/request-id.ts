import type { IncomingMessage } from 'node:http'
import { uuid } from '../lib/uuid.ts'

/** The form of an id from another hop. It appears in the log, in the response and in the request to the upstream. */
const FOREIGN = /^[\w.:/+=@~-]{1,128}$/

/**
 * The id that a trusted peer gave the request, so that one id leads through the logs of all hops; otherwise a new one.
 * A new id also replaces two ids, and an id that is too long or has other characters.
 *
 * @param isProxy whether an address is a trusted peer's
 */
export function requestIdOf({ headers, socket }: IncomingMessage, isProxy: (address: string) => boolean): string {
  const given = headers['x-request-id']
  if (typeof given !== 'string' || !FOREIGN.test(given) || !isProxy(socket.remoteAddress ?? '')) return uuid()
  return given
}
