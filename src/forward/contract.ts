import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CredentialPlaces } from '../inputs/inputs.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Held } from './backlog.ts'
import type { Leniency } from './client/contract.ts'
import type { FieldName } from './client/header-name.ts'

/** What the upstream may learn of who asks. */
export interface VerifiedCaller {
  readonly user: string
  /** `null` if nothing names one. */
  readonly organisation: string | null
  /** `null` if nothing names one. */
  readonly plan: string | null
  /** By their paths. */
  readonly claims: Readonly<Record<string, string>>
}

/** What a field of `identity` says of the caller. */
export type IdentityFact =
  | { readonly kind: 'user' | 'organisation' | 'plan' }
  | { readonly kind: 'claim'; readonly path: string }

/** For how long the upstream may be silent, in milliseconds. */
export interface Patience {
  /** From the end of the request to the head of the response; whole, 1 to 86,400,000. */
  readonly responseTimeoutMs: number
  /**
   * Between two pieces of the body of a response, and the longest that a client may read nothing of it, or of what a tunnel
   * brings; whole, 1 to 86,400,000.
   */
  readonly idleTimeoutMs: number
}

/** What is known of an admitted request when it is forwarded. */
interface Admitted {
  readonly req: IncomingMessage
  /** Path and query as the client wrote them: exactly these bytes are sent. */
  readonly target: string
  /** `null` if nobody is verified: then the upstream is told of nobody. */
  readonly caller: VerifiedCaller | null
  /** Whether a credential that nobody here took is forwarded, as it is the upstream's. By default it is not. */
  readonly passCredentials: boolean
  readonly requestId: string
  /** Its span, if the gateway has those: then the upstream gets no traceparent of the client. Default none. */
  readonly trace: Trace | null
  /** What the upstream hears of the quota, in the field that the options name. Default nothing. */
  readonly quota?: string | null
  /** `null` for that of the options. */
  readonly patience: Patience | null
  /** Raw `[name, value, …]` added to the upstream's response. The upstream's own RateLimit fields stay before them. */
  readonly responseHeaders: readonly string[]
  /** Names that a response which allows an origin exposes to its pages, besides those that it exposes itself. Default none. */
  readonly exposed: readonly string[] | null
}

/** Hears a response on its way to the client. It changes nothing of it but fields that it adds. */
export interface ResponseTap {
  /** The head of the upstream's response; once, and first. */
  onHead(head: ResponseFields): void
  /** A piece of the body, as it came. A Buffer is not the tap's to keep. */
  onBody(piece: Buffer | string): void
  /** The body is whole. It may be called again, which changes nothing. */
  onEnd(): void
  /** Raw fields to add, when the head is written: after `onEnd` if the whole response is here by then. */
  fields(): readonly string[]
}

/** A response as far as its fields go. */
export interface ResponseFields {
  readonly status: number
  /** The reason phrase; `null` for the usual one of the status. */
  readonly phrase: string | null
  readonly names: readonly FieldName[]
  /** One for each name. */
  readonly values: readonly string[]
}

export interface Exchange extends Admitted {
  /** The responses before it on its connection are out. */
  readonly res: ServerResponse
  /** The whole body if it has been read already; sent unchanged. `null`: what `req` still holds is sent. */
  readonly body: Buffer | null
  /** Default none. */
  readonly tap?: ResponseTap | null
  /**
   * Gets the place at the upstream back as soon as the upstream has no more to do with the response, where its client is not done
   * with it by then. Default nobody.
   */
  readonly places?: { give(thing: 'upstream_connections'): void }
}

/** A WebSocket handshake: GET, version 13, without a body. The caller has checked that. */
export interface UpgradeExchange extends Admitted {
  readonly socket: Duplex
  /** What the client sent after its handshake, from the `upgrade` event. */
  readonly head: Buffer
  /** Ends the tunnel; its reason is a sentence for the log. Default: it ends by itself. */
  readonly signal?: AbortSignal
  /** What the 101 chooses, instead of the upstream, which was offered nothing. */
  readonly subprotocol?: string | null
}

/** Hears how an exchange ended: once, last, and perhaps before `forward` returns. It does not throw. */
export interface ForwardReceiver {
  forwarded(result: ForwardResult): void
}

export type ForwardError =
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'bad_upstream_answer'
  /** All connections were taken for too long: no fault of the upstream. */
  | 'no_connection'

export interface ForwardResult {
  /** The upstream's status, also when it broke off its body later; 0 if nothing came that could be passed on. */
  readonly httpStatus: number
  /** `aborted`: the client left first. */
  readonly outcome: 'forwarded' | 'failed' | 'aborted'
  /** Set with `failed` only. */
  readonly error: ForwardError | null
  /** `false` only when certainly no byte of the request was sent to the upstream. */
  readonly reached: boolean
  /** Whether the response to the client has begun. If not, and the client is still there, the caller responds. */
  readonly headSent: boolean
  /** For the log: why it did not succeed. */
  readonly reason: string | null
  /** What had to be let pass of the upstream's heads, in the order in which it came. */
  readonly lenient: readonly Leniency[]
}

/** How the upstream is reached. Numbers are not checked here: the configuration has these ranges and defaults. */
export interface ForwardOptions extends Patience {
  /**
   * Origin of the upstream, `http:` or `https:`, and perhaps a path that is put before the target of each request. Query,
   * fragment and credentials in it are refused with a TypeError.
   */
  readonly url: string
  /** The Host field of each request. Default `null`: the client's, or that of `url` if it sends none. */
  readonly host?: string | null
  /** Path of a Unix socket to connect to, instead of host and port of `url`. Default `null`. */
  readonly socket?: string | null
  /** Milliseconds to a usable connection, TLS handshake included; whole, 1 to 600,000, by default 2000. */
  readonly connectTimeoutMs: number
  /**
   * Milliseconds from the first connection that failed until no other is tried for a request: it waits as long as the upstream takes
   * none, since nothing of it was sent. Whole, 0 to 600,000, by default 0, which is not to wait.
   */
  readonly connectRetryMs: number
  /** The shortest time of any `patience`, in milliseconds. Default: no exchange has one that is shorter than these. */
  readonly shortestMs?: number
  /**
   * Milliseconds that a free connection is kept, if the upstream does not announce a shorter time; whole, 1 to 600,000, by
   * default 4000.
   */
  readonly keepAliveMs: number
  /**
   * Milliseconds after which a connection takes no further request, up to a fifth less; a request under way ends as usual.
   * Whole, 1000 to 86,400,000, by default 300,000.
   */
  readonly connectionMaxAgeMs: number
  /** Connections to the upstream at one time, 1 to 65,535, by default 256. Upgraded ones are not counted. */
  readonly maxConnections: number
  /** The longest wait for a free connection, in milliseconds; whole, 1 to 600,000, by default 2000. */
  readonly queueTimeoutMs: number
  /** Bytes of names and values in the head of a response, 1024 to 1,048,576, by default 32,768. */
  readonly maxHeaderSize: number
  /**
   * Bytes of one response that may wait for a client which reads slower than the upstream writes: while it is less the upstream
   * is read on. 0, or 65,536 to 1,073,741,824, by default 262,144. 0: the upstream waits for its reader.
   */
  readonly buffer: number
  /** The same of all responses together: 65,536 to 68,719,476,736, by default 67,108,864. */
  readonly bufferTotal: number
  /** Counts what waits. Default one of its own; a forwarder that replaces another has that one's, of which responses are left. */
  readonly held?: Held
  /** What is let pass of the head of a response, of those that are no upgrade. Default: nothing. */
  readonly lenient?: readonly Leniency[]
  /** Added to each request instead of the client's fields of these names, which are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * What the upstream learns of a verified caller, beside X-Tollgate-User, by the names of the fields as they are to be sent.
   * Nobody else's fields of these names pass. By default none.
   */
  readonly identity?: ReadonlyMap<string, IdentityFact>
  /** The field that says how the request stands to the quota. Nobody else's field of this name passes. Default none. */
  readonly quotaField?: string | null
  /** Names of fields that the upstream does not get, neither the client's nor ours. By default none. */
  readonly removeHeaders?: readonly string[]
  /** Whether the upstream gets Via (RFC 9110 section 7.6.3). Default `false`, since many servers do not compress for it. */
  readonly via?: boolean
  /** Whether a client's credentials are passed on. By default they are not. */
  readonly passAuthorization: boolean
  /** Where a client's credential may be. Default Authorization. */
  readonly credentials?: CredentialPlaces
  /**
   * Whether a connection serves another request after one with a body. An upstream that does not read a body by its length takes
   * it for the next request (CL.0), and the response to that goes to whoever comes next. By default it does.
   */
  readonly reuseAfterBody: boolean
  /** For an https origin. Default: the authorities that Node brings, and no client certificate. */
  readonly tls?: UpstreamTls
  /** Whether a peer is a proxy of ours, whose facts of the client (X-Forwarded-* and the like) are kept. Default: nobody. */
  readonly trustedProxies?: (address: string) => boolean
  /** Whether a client's fields pass that have more than letters, digits and `-` in their names and are only data. Default `false`. */
  readonly oddNames?: boolean
  /** Whether the gateway sends a traceparent of its own. Default `false`. */
  readonly traced?: boolean
}

/** For an https upstream. The certificate is always verified; there is no switch for it. */
export interface UpstreamTls {
  /** PEM, instead of the authorities that Node brings. */
  readonly ca?: string | Buffer
  /** Client certificate and key, PEM. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** Name to send (SNI) and to verify. Default: the host of `url`. */
  readonly serverName?: string
}

export interface Forwarder {
  /** Sends the request and writes the upstream's response to `res`. */
  forward(exchange: Exchange, receiver: ForwardReceiver): void
  /** Opens a tunnel once the upstream has responded with 101; settles when it has ended. Never rejects. */
  upgrade(exchange: UpgradeExchange): Promise<ForwardResult>
  /** Raw fields by which the upstream learns of a verified caller, and of the quota; `null` for nothing. */
  ownFields(caller: VerifiedCaller | null, quota: string | null): string[]
  /** Whether requests wait because all connections are taken, or one has waited in vain in the last 10 seconds. */
  isFull(): boolean
  /** What waits of all responses for clients that read slowly. */
  readonly held: Held
  /**
   * Resolves when nothing is in flight, tunnels included, and idle connections are closed. A request that still comes,
   * because it was admitted under an older configuration, is served all the same.
   */
  close(): Promise<void>
  /** Breaks off whatever is left. */
  destroy(): Promise<void>
}
