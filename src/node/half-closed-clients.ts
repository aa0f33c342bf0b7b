import type { Server } from 'node:http'

/**
 * Sets whether a client that has ended its side after a request still gets the response. Otherwise Node closes the connection at once.
 *
 * Node's documentation does not name `httpAllowHalfOpen` (26.10, `lib/_http_server.js`). Node reads it whenever a client ends its
 * side, so it may change at any time. There is no other way: without it Node itself breaks off the requests under way.
 */
export function answerHalfClosed(server: Server, on: boolean): void {
  Object.assign(server, { httpAllowHalfOpen: on })
}
