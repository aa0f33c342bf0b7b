import type { LookupFunction } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { FieldName } from './header-name.ts'
import type { Leniency } from './leniency.ts'

export type { Leniency } from './leniency.ts'

/**
 * An HTTP/1.1 client of one origin. It keeps connections, serves one request at a time on each, and streams both bodies.
 * It finds out where a response ends and whether its connection can serve again. What requests and responses mean is up to
 * whoever uses it.
 */
export interface UpstreamClient {
  /** Gives `waiter` a connection, in the order of arrival: one that is free or becomes free, or a new one. */
  acquire(waiter: Waiter): void
  /** Gives `waiter` a connection that nobody has used, however many there are. */
  acquireNew(waiter: Waiter): void
  /**
   * For `waiter`, who has failed to connect by itself: it is given a connection when the upstream takes one again, as those are whose
   * connection was opened here; or `error`, where nobody waits for that, or the time for it is over.
   */
  waitOut(waiter: Waiter, error: Error): void
  /** From now on `waiter` is not called any more. */
  leave(waiter: Waiter): void
  /** Whether requests wait because all connections are taken, or one has waited in vain in the last 10 seconds. */
  isFull(): boolean
  /** Resolves when nothing is in flight and no connection is open. Whoever still comes is served all the same. */
  close(): Promise<void>
  /** Breaks off whatever is left, and fails whatever comes later, for `reason`. */
  destroy(reason: Error): void
}

/** Where connections lead, and how. */
export interface Destination {
  /** A name or an address; of a socket, the name that its certificate is for. */
  readonly host: string
  readonly port: number
  /** Path of a Unix socket, which is connected to instead; `null` for host and port. */
  readonly socket: string | null
  /** Asked anew for each connection. */
  readonly lookup: LookupFunction
  /** `null` for plain HTTP. */
  readonly tls: { readonly secureContext: SecureContext; readonly serverName: string | undefined } | null
  /** Milliseconds to a usable connection, TLS handshake included. */
  readonly connectTimeoutMs: number
  /** Bytes of the head of a response. */
  readonly maxHeaderSize: number
  /** What is let pass of a head that is not well formed. */
  readonly lenient: ReadonlySet<Leniency>
}

/** Whoever waits for a connection. One of the two is called, once. */
export interface Waiter {
  /** The connection is the waiter's until its response has ended or failed, or the waiter abandons it. */
  start(connection: Connection): void
  /** There will be no connection. */
  expire(error: Error): void
}

/** A connection in the hands of one exchange. `send` comes first; after the end of the response nothing may be called. */
export interface Connection {
  /** Sends the request, or its head if the body comes in pieces. */
  send(request: OutgoingRequest, receiver: ResponseReceiver): void
  /**
   * Sends a piece of the body.
   * @param onTaken called when the kernel has taken the piece; with an error if the kernel never will
   * @returns false when the next piece should wait for `onDrain`: never if the kernel has taken all at once
   */
  write(piece: Buffer, onTaken: (error?: Error | null) => void): boolean
  /** The body has no more pieces. */
  end(): void
  /** Whether the kernel has taken all that was written. */
  readonly flushed: boolean
  /** From now on the upstream may be silent for so long; `null` for as long as it likes. */
  allow(silence: Silence | null): void
  /** Goes on reading after `onPause` has returned false. A receiver that has lost the connection changes nothing. */
  resume(receiver: ResponseReceiver): void
  /** Closes the connection. Its receiver is not called any more. */
  abandon(): void
}

export interface OutgoingRequest {
  readonly method: string
  readonly target: string
  /** Of the Host field. */
  readonly host: string
  /** Raw `[name, value, …]`, without Host, Connection and the fields that frame the body. */
  readonly headers: readonly string[]
  /** The whole body; or how it is framed if it comes in pieces; or `null`. */
  readonly body: Buffer | 'chunked' | { readonly length: string } | null
  /** Whether its connection is to serve nobody after it. */
  readonly last: boolean
}

/** How long the upstream may send nothing. A tick of the client's clock or two more are not noticed. */
export interface Silence {
  readonly ms: number
  /** What the error says if it is longer. */
  readonly late: string
}

/** An exchange that has a connection to itself until its response ends or fails: `onEnd` or `onFailure` comes last. */
export interface ResponseReceiver {
  /** A head of status 1xx, but never 101: another head follows. At most `MAX_INTERIM` of them come. */
  onInterim(head: ResponseHead): void
  onHead(head: ResponseHead): void
  /**
   * A piece of the body. It is text in latin1 if it is short, since text joins a head in one write; else a Buffer.
   * A Buffer may be kept while `sending` says so.
   * @param last only a body of announced length knows its last piece
   */
  onBody(piece: Buffer | string, last: boolean): void
  /** The response is whole. @param trailers raw */
  onEnd(trailers: readonly string[]): void
  /**
   * All that the upstream has sent so far has been handed on, and the response goes on.
   * @returns false to be called no more until `resume`
   */
  onPause(): boolean
  /** Whether pieces of the body are still on their way to whoever reads them. */
  readonly sending: boolean
  /** The connection takes more of the request's body. */
  onDrain(): void
  /** The upstream takes no more of the request's body. What it has sent before comes all the same, or `onFailure`. */
  onUnsent(): void
  /**
   * No more of the response comes, and the connection is gone.
   * @param unseen whether the upstream has almost certainly not seen the request: the connection had served others, and
   * the upstream closed it, or sent what is left of an earlier response
   */
  onFailure(error: Error, unseen: boolean): void
}

/** The head of a response, as the upstream sent it. Field values are octets in a latin1 string. */
export interface ResponseHead {
  readonly status: number
  /** The reason phrase; `null` for the usual one of the status. */
  readonly phrase: string | null
  /** In the order in which they came, repeated ones repeated. */
  readonly names: readonly FieldName[]
  readonly values: readonly string[]
  /** What was let pass of it; empty if it is well formed. */
  readonly needed: readonly Leniency[]
}

/** Interim responses to one request; an upstream that sends more is given up. */
export const MAX_INTERIM = 1_000
