import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** An internal of Node or of a library that a file of this folder uses, and that is not in its place. */
export interface MissingHook {
  readonly hook: string
  /** The feature that the gateway lacks without the internal. */
  readonly lost: string
}

/** A check for one hook in an object. */
export type Hook<T> = readonly [hook: string, lost: string, isThere: (inside: T) => boolean]

/** The hooks that are missing. A check that throws has found nothing. */
export function missingAmong<T>(inside: T, hooks: readonly Hook<T>[]): MissingHook[] {
  const isMissing = (isThere: Hook<T>[2]): boolean => {
    let found = false
    attempt(() => {
      found = isThere(inside)
    })
    return !found
  }
  return hooks.filter(([, , isThere]) => isMissing(isThere)).map(([hook, lost]) => ({ hook, lost }))
}

/** Checks once all internals of Node that the gateway uses. It takes a millisecond, and nothing is sent. */
export function missingInNode(): MissingHook[] {
  const server = createServer()
  const socket = new Socket()
  // This makes the handle, and the connection is given up before it is tried.
  attempt(() => socket.connect({ host: '127.0.0.1', port: 1 }))
  attempt(() => server.emit('listening'))
  attempt(() => server.emit('connection', socket))
  const missing = missingAmong({ server, socket: socket as unknown as Inside }, HOOKS)
  socket.destroy()
  server.close()
  return missing
}

/** A Node that behaves otherwise must not end the gateway. The checks show what is missing. */
function attempt(step: () => unknown): void {
  try {
    step()
  } catch {}
}

/** Properties that Node's types do not name. */
type Unnamed = Readonly<Record<string | number, unknown>>

interface Inside extends Unnamed {
  readonly parser: Unnamed
  readonly _handle: Unnamed
}

interface Parts {
  readonly server: ReturnType<typeof createServer>
  readonly socket: Inside
}

const areFunctions = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'function')

const FLOODS = 'a client that floods one connection holds up all others'
const UPGRADES = 'requests behind an upgrade that is ignored'
const LATE = 'http.server.connectionsCheckingInterval'

const HOOKS: readonly Hook<Parts>[] = [
  ['Server: one listener', 'limits before the first byte', ({ server }) => server.listenerCount('connection') === 1],
  ['Server#httpAllowHalfOpen', 'responses to half-closed clients', ({ server }) => 'httpAllowHalfOpen' in server],
  [`Server[${LATE}]`, 'sleep while nothing is to be done', ({ server }) => namesOfSymbols(server).includes(LATE)],
  ['HTTPParser[kOnBody]', FLOODS, ({ socket: { parser } }) => areFunctions(parser[3])],
  ['HTTPParser[kOnMessageComplete]', FLOODS, ({ socket: { parser } }) => areFunctions(parser[4])],
  ['HTTPParser[kOnExecute]', UPGRADES, ({ socket: { parser } }) => areFunctions(parser[5])],
  ['HTTPParser#execute', UPGRADES, ({ socket: { parser } }) => areFunctions(parser.execute, parser.getCurrentBuffer)],
  ['HTTPParser#onIncoming', FLOODS, ({ socket: { parser } }) => areFunctions(parser.onIncoming)],
  ['HTTPParser#incoming', FLOODS, ({ socket: { parser } }) => 'incoming' in parser && '_consumed' in parser],
  ['Socket#_unrefTimer', FLOODS, ({ socket }) => areFunctions(socket._unrefTimer)],
  ['Socket#_handle', FLOODS, ({ socket: { _handle } }) => areFunctions(_handle.readStart, _handle.readStop)],
  ['Socket#_parent', 'who is at the end of a connection by TLS', ({ socket }) => '_parent' in socket],
  ['Socket#_paused', 'requests by TLS while responses wait', ({ socket }) => '_paused' in socket],
  ['Socket#destroySoon', 'responses to clients that still send', ({ socket }) => areFunctions(socket.destroySoon)],
  ['Socket#_write', 'responses of upstreams that refuse', ({ socket }) => areFunctions(socket._write, socket._writev)],
  ['IncomingMessage#push', 'the bound on short pieces', () => areFunctions(IncomingMessage.prototype.push)],
  ['ServerResponse#_header', 'a twentieth of the speed', () => '_header' in new ServerResponse(A_REQUEST)],
]

const A_REQUEST = { method: 'GET' } as IncomingMessage

function namesOfSymbols(of: object): readonly (string | undefined)[] {
  return Object.getOwnPropertySymbols(of).map(({ description }) => description)
}
