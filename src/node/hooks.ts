import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** A part inside of Node or a library that a file of this folder leans on, and that is not where it was. */
export interface MissingHook {
  readonly hook: string
  /** What the gateway does not do without it. */
  readonly lost: string
}

/** Looks for one hook in what it is a part of. */
export type Hook<T> = readonly [hook: string, lost: string, isThere: (inside: T) => boolean]

/** Those that are not there. A look that fails is one that has found nothing. */
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

/** Looks once for everything inside of Node that the gateway leans on. It takes a millisecond, and nothing is sent. */
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

/** A Node that does otherwise must not end the gateway: what is missing shows in the looks. */
function attempt(step: () => unknown): void {
  try {
    step()
  } catch {}
}

/** Functions that Node does not name. */
type Unnamed = Readonly<Record<string | number, unknown>>

interface Inside extends Unnamed {
  readonly parser: Unnamed
  readonly _handle: Unnamed
}

interface Parts {
  readonly server: ReturnType<typeof createServer>
  readonly socket: Inside
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const FLOODS = 'a client that floods one connection holds up all others'

const HOOKS: readonly Hook<Parts>[] = [
  [
    'the one listener of a server for connections',
    'limits and the PROXY protocol before the first byte',
    ({ server }) => server.listenerCount('connection') === 1,
  ],
  ['HTTPParser[kOnBody]', FLOODS, ({ socket }) => isFunction(socket.parser[3])],
  ['HTTPParser[kOnMessageComplete]', FLOODS, ({ socket }) => isFunction(socket.parser[4])],
  [
    'HTTPParser[kOnExecute]',
    'requests behind an upgrade that is ignored',
    ({ socket }) => isFunction(socket.parser[5]),
  ],
  [
    'HTTPParser#execute and getCurrentBuffer',
    'requests behind an upgrade that is ignored',
    ({ socket: { parser } }) => isFunction(parser.execute) && isFunction(parser.getCurrentBuffer),
  ],
  ['HTTPParser#onIncoming', FLOODS, ({ socket }) => isFunction(socket.parser.onIncoming)],
  [
    'HTTPParser#incoming and _consumed',
    FLOODS,
    ({ socket: { parser } }) => 'incoming' in parser && '_consumed' in parser,
  ],
  ['Socket#_unrefTimer', FLOODS, ({ socket }) => isFunction(socket._unrefTimer)],
  [
    'readStart and readStop of Socket#_handle',
    FLOODS,
    ({ socket: { _handle } }) => isFunction(_handle.readStart) && isFunction(_handle.readStop),
  ],
  ['Socket#_parent', 'who is at the other end of a connection by TLS', ({ socket }) => '_parent' in socket],
  ['Socket#_paused', 'requests by TLS while responses wait', ({ socket }) => '_paused' in socket],
  [
    'Socket#destroySoon',
    'the end of a response to a client that is still sending',
    ({ socket }) => isFunction(socket.destroySoon),
  ],
  [
    'Socket#_write and _writev',
    'the response of an upstream that refuses an upload',
    ({ socket }) => isFunction(socket._write) && isFunction(socket._writev),
  ],
  [
    'httpAllowHalfOpen of a server',
    'responses to clients that end their side after a request',
    ({ server }) => 'httpAllowHalfOpen' in server,
  ],
  [
    'the interval in which a server looks for late requests',
    'sleep of a process that has nothing to do',
    ({ server }) =>
      Object.getOwnPropertySymbols(server).some((it) => it.description === 'http.server.connectionsCheckingInterval'),
  ],
  [
    'IncomingMessage#push',
    'the bound on memory for bodies in short pieces',
    () => isFunction(IncomingMessage.prototype.push),
  ],
  [
    'ServerResponse#_header',
    'a twentieth of the speed',
    () => '_header' in new ServerResponse({ method: 'GET' } as IncomingMessage),
  ],
]
