import type { Server } from 'node:http'

/**
 * Says whether a client that has ended its side after a request still gets the response. Otherwise Node closes the connection at once.
 *
 * Node's documentation does not name `httpAllowHalfOpen` (26.10, `lib/_http_server.js`). Node asks for it whenever a client ends its
 * side, so it may change at any time. There is no other way: without it Node breaks off what is under way by itself.
 */
export function answerHalfClosed(server: Server, on: boolean): void {
  Object.assign(server, { httpAllowHalfOpen: on })
}
