import type { LookupFunction } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { FieldName } from './header-name.ts'
import type { Leniency } from './leniency.ts'

export type { Leniency } from './leniency.ts'

/**
 * An HTTP/1.1 client for one origin. It keeps connections, serves one request at a time on each, and streams both bodies.
 * It finds out where a response ends and whether its connection can be used again. The meaning of requests and responses
 * is left to its user.
 */
export interface UpstreamClient {
  /** Gives `waiter` a free or new connection, in the order of arrival. */
  acquire(waiter: Waiter): void
  /** Gives `waiter` a connection that was never used, however many there are. */
  acquireNew(waiter: Waiter): void
  /**
   * For a `waiter` that opened its own connection in vain. Like other waiters it gets a connection as soon as the upstream accepts one
   * again. It gets `error` if the configuration allows no retry, if the error is not one that may pass, or if the time is over.
   */
  waitOut(waiter: Waiter, error: Error): void
  /** From now on `waiter` is not called. */
  leave(waiter: Waiter): void
  /** Whether requests wait because all connections are in use, or one has waited in vain in the last 10 seconds. */
  isFull(): boolean
  /** Resolves when nothing is in flight and no connection is open. Later requests are still served. */
  close(): Promise<void>
  /** Breaks everything off, and fails later requests with `reason`. */
  destroy(reason: Error): void
}

/** Where connections lead and how they are made. */
export interface Destination {
  /** A name or an address. With a socket, the name in the upstream's certificate. */
  readonly host: string
  readonly port: number
  /** The path of a Unix socket to use instead; `null` for host and port. */
  readonly socket: string | null
  /** Resolves the host. It is called for each connection. */
  readonly lookup: LookupFunction
  /** `null` for plain HTTP. */
  readonly tls: { readonly secureContext: SecureContext; readonly serverName: string | undefined } | null
  /** How long it may take until a connection is usable, in milliseconds. It includes the TLS handshake. */
  readonly connectTimeoutMs: number
  /** The most bytes of a response's head. */
  readonly maxHeaderSize: number
  /** Which faults of a head are tolerated. */
  readonly lenient: ReadonlySet<Leniency>
}

/** Waits for a connection. One of the two methods is called, once. */
export interface Waiter {
  /** The waiter owns the connection until its response has ended or failed, or until it abandons the connection. */
  start(connection: Connection): void
  /** There will be no connection. */
  expire(error: Error): void
}

/** A connection that one exchange owns. Call `send` first, and nothing after the end of the response. */
export interface Connection {
  /** Sends the request, or only its head if the body comes in pieces. */
  send(request: OutgoingRequest, receiver: ResponseReceiver): void
  /**
   * Sends a piece of the body.
   * @param onTaken called when the kernel has accepted the piece, or with an error if it never will
   * @returns false if the next piece should wait for `onDrain`; never if the kernel has accepted everything at once
   */
  write(piece: Buffer, onTaken: (error?: Error | null) => void): boolean
  /** Ends the body. */
  end(): void
  /** Whether the kernel has accepted everything that was written. */
  readonly flushed: boolean
  /** Sets how long the upstream may be silent from now on; `null` for as long as it likes. */
  allow(silence: Silence | null): void
  /** Goes on reading after `onPause` returned false. It does nothing for a receiver that has lost the connection. */
  resume(receiver: ResponseReceiver): void
  /** Closes the connection. Its receiver is not called again. */
  abandon(): void
}

export interface OutgoingRequest {
  readonly method: string
  readonly target: string
  /** The value of the Host field. */
  readonly host: string
  /** Raw `[name, value, …]`, without Host, Connection and the fields that frame the body. */
  readonly headers: readonly string[]
  /** The whole body, or the framing of a body that comes in pieces, or `null`. */
  readonly body: Buffer | 'chunked' | { readonly length: string } | null
  /** Whether the connection ends after this request. */
  readonly last: boolean
}

/** How long the upstream may send nothing. It may last up to two ticks of the client's clock longer. */
export interface Silence {
  readonly ms: number
  /** The message of the error if it takes longer. */
  readonly late: string
}

/** Receives the response of an exchange. `onEnd` or `onFailure` comes last, and the exchange owns its connection until then. */
export interface ResponseReceiver {
  /** A head of status 1xx except 101. Another head follows. At most `MAX_INTERIM` of them come. */
  onInterim(head: ResponseHead): void
  onHead(head: ResponseHead): void
  /**
   * A piece of the body. A short last piece is text in latin1, because text can be joined with a head in one write. Any
   * other piece is a Buffer, which may be kept only while `sending` is true.
   * @param last true for the last piece of a body with an announced length
   */
  onBody(piece: Buffer | string, last: boolean): void
  /** The response is complete. @param trailers names and values in turn, as they arrived */
  onEnd(trailers: readonly string[]): void
  /**
   * Everything that has arrived was handed on, and the response is not complete.
   * @returns false to receive nothing more until `resume`
   */
  onPause(): boolean
  /** Whether pieces of the body have not reached their reader yet. */
  readonly sending: boolean
  /** The connection accepts more of the request's body. */
  onDrain(): void
  /** The upstream accepts nothing more of the request's body. What it sent before still comes, or `onFailure`. */
  onUnsent(): void
  /**
   * The response ends here, and the connection is gone.
   * @param unseen whether the upstream has almost certainly not seen the request. That is so if the connection had
   * served others and the upstream closed it, or sent the rest of an earlier response
   */
  onFailure(error: Error, unseen: boolean): void
}

/** The head of a response, as the upstream sent it. Field values are octets in a latin1 string. */
export interface ResponseHead {
  readonly status: number
  /** The reason phrase; `null` for the usual phrase of the status. */
  readonly phrase: string | null
  /** In the order of their arrival, with repetitions. */
  readonly names: readonly FieldName[]
  readonly values: readonly string[]
  /** Which faults were tolerated; empty if the head is well-formed. */
  readonly needed: readonly Leniency[]
}

/** The most interim responses to one request. If an upstream sends more, it is given up. */
export const MAX_INTERIM = 1_000
