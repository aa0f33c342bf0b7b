import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CredentialPlaces } from '../inputs/inputs.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Held } from './backlog.ts'
import type { Leniency } from './client/contract.ts'
import type { FieldName } from './client/header-name.ts'

/** What the upstream may learn about the caller. */
export interface VerifiedCaller {
  readonly user: string
  /** `null` for none. */
  readonly organisation: string | null
  /** `null` for none. */
  readonly plan: string | null
  /** The values of claims, by the paths of the claims. */
  readonly claims: Readonly<Record<string, string>>
}

/** The fact about the caller that a field of `identity` contains. */
export type IdentityFact =
  | { readonly kind: 'user' | 'organisation' | 'plan' }
  | { readonly kind: 'claim'; readonly path: string }

/** How long the upstream may be silent, in milliseconds. */
export interface Patience {
  /** From the end of the request to the head of the response; a whole number from 1 to 86,400,000. */
  readonly responseTimeoutMs: number
  /**
   * Between two pieces of a response's body. It is also how long a client may read nothing of the body or of a tunnel. A
   * whole number from 1 to 86,400,000.
   */
  readonly idleTimeoutMs: number
}

/** What is known about an admitted request when it is forwarded. */
interface Admitted {
  readonly req: IncomingMessage
  /** Path and query exactly as the client sent them. */
  readonly target: string
  /** `null` if no caller is verified. The upstream then learns of none. */
  readonly caller: VerifiedCaller | null
  /** Whether to forward a credential that the gateway has not accepted, because it belongs to the upstream. Default no. */
  readonly passCredentials: boolean
  readonly requestId: string
  /** The gateway's span, which replaces a traceparent of the client. Default none. */
  readonly trace: Trace | null
  /** The value of the quota field for the upstream. Default none. */
  readonly quota?: string | null
  /** `null` for the values of the options. */
  readonly patience: Patience | null
  /** Raw `[name, value, …]` to add to the upstream's response. The upstream's own RateLimit fields stay before them. */
  readonly responseHeaders: readonly string[]
  /** Names of fields that a response exposes in addition to its own, if it allows an origin at all. Default none. */
  readonly exposed: readonly string[] | null
}

/** Observes a response on its way to the client. It changes nothing, but may add fields. */
export interface ResponseTap {
  /** The head of the upstream's response. It comes first and once. */
  onHead(head: ResponseFields): void
  /** A piece of the body as it arrived. The tap must not keep a Buffer. */
  onBody(piece: Buffer | string): void
  /** The body is complete. A repeated call has no effect. */
  onEnd(): void
  /** Raw fields to add when the head is written. If the whole response is there by then, this comes after `onEnd`. */
  fields(): readonly string[]
}

/** The status line and the fields of a response. */
export interface ResponseFields {
  readonly status: number
  /** The reason phrase; `null` for the usual phrase of the status. */
  readonly phrase: string | null
  readonly names: readonly FieldName[]
  /** One value for each name. */
  readonly values: readonly string[]
}

export interface Exchange extends Admitted {
  /** The earlier responses on its connection are out. */
  readonly res: ServerResponse
  /** The whole body if it was read already, to be sent unchanged. `null` to send what `req` still contains. */
  readonly body: Buffer | null
  /** Default none. */
  readonly tap?: ResponseTap | null
  /**
   * Gets the upstream place back as soon as the upstream has finished, if the client has not read the response by then. Default
   * none.
   */
  readonly places?: { give(thing: 'upstream_connections'): void }
}

/** A WebSocket handshake, which the caller has checked: GET, version 13, without a body. */
export interface UpgradeExchange extends Admitted {
  readonly socket: Duplex
  /** What the client sent after its handshake, from the `upgrade` event. */
  readonly head: Buffer
  /** Ends the tunnel, with a sentence for the log as its reason. By default the tunnel ends by itself. */
  readonly signal?: AbortSignal
  /** The subprotocol that the 101 chooses in place of the upstream, which gets no offer. */
  readonly subprotocol?: string | null
}

/** Is called when an exchange has ended: once, last, and perhaps before `forward` returns. It must not throw. */
export interface ForwardReceiver {
  forwarded(result: ForwardResult): void
}

export type ForwardError =
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'bad_upstream_answer'
  /** All connections were in use for too long, which is no fault of the upstream. */
  | 'no_connection'

export interface ForwardResult {
  /** The upstream's status, even if it later broke off its body. 0 if there was nothing to forward. */
  readonly httpStatus: number
  /** `aborted`: the client left first. */
  readonly outcome: 'forwarded' | 'failed' | 'aborted'
  /** Set with `failed` only. */
  readonly error: ForwardError | null
  /** Whether the upstream may have got a part of the request; `false` only if certainly no byte was sent. */
  readonly reached: boolean
  /** Whether the response to the client has begun. If not, and if the client is still there, the caller responds. */
  readonly headSent: boolean
  /** Why the exchange did not succeed, for the log. */
  readonly reason: string | null
  /** Which faults of the upstream's heads were tolerated, in order. */
  readonly lenient: readonly Leniency[]
}

/** How the upstream is reached. Numbers are not checked here. The configuration has these ranges and defaults. */
export interface ForwardOptions extends Patience {
  /**
   * The origin of the upstream, `http:` or `https:`, perhaps with a path that is put before the target of each request. A
   * query, fragment or credentials are refused with a TypeError.
   */
  readonly url: string
  /** The Host field of each request. Default `null` for the client's Host, or that of `url` if the client sends none. */
  readonly host?: string | null
  /** Path of a Unix socket to connect to instead of host and port of `url`. Default `null`. */
  readonly socket?: string | null
  /** How long until a connection is usable, with its TLS handshake, in milliseconds; whole, 1 to 600,000, default 2000. */
  readonly connectTimeoutMs: number
  /**
   * For how many milliseconds after its first failed connection a request tries others. It can wait until the upstream accepts one,
   * since nothing was sent. Whole, 0 to 600,000, default 0, which means not to wait.
   */
  readonly connectRetryMs: number
  /** The shortest time of any `patience`, in milliseconds. By default no exchange has a shorter one than these options. */
  readonly shortestMs?: number
  /**
   * How long a free connection is kept, in milliseconds, unless the upstream announces a shorter time; whole, 1 to
   * 600,000, default 4000.
   */
  readonly keepAliveMs: number
  /**
   * After how many milliseconds a connection accepts no further request, up to a fifth less. A request under way goes on.
   * Whole, 1000 to 86,400,000, default 300,000.
   */
  readonly connectionMaxAgeMs: number
  /** The most connections to the upstream at one time, without upgraded ones; 1 to 65,535, default 256. */
  readonly maxConnections: number
  /** The longest wait for a free connection, in milliseconds; whole, 1 to 600,000, default 2000. */
  readonly queueTimeoutMs: number
  /** The most bytes of a response's head, 1024 to 1,048,576, default 32,768. */
  readonly maxHeaderSize: number
  /**
   * How many bytes of one response may wait for a client that reads more slowly than the upstream writes. Below this the
   * upstream is read on. 0, or 65,536 to 1,073,741,824, default 262,144. With 0 the upstream waits for the client.
   */
  readonly buffer: number
  /** How many bytes of all responses together may wait so: 65,536 to 68,719,476,736, default 67,108,864. */
  readonly bufferTotal: number
  /** Counts the bytes that wait. Default a new counter. A forwarder's successor shares its counter, because responses go on. */
  readonly held?: Held
  /** Faults that are tolerated in response heads, except those of upgrades. Default none. */
  readonly lenient?: readonly Leniency[]
  /** Fields that are added to each request and replace the client's. The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Fields with facts about a verified caller, beside X-Tollgate-User, with their names as they are sent. Fields of these
   * names from others are dropped. Default none.
   */
  readonly identity?: ReadonlyMap<string, IdentityFact>
  /** The field that says how the request stands to the quota. Fields of this name from others are dropped. Default none. */
  readonly quotaField?: string | null
  /** Names of fields that the upstream does not get, whether they come from the client or the gateway. Default none. */
  readonly removeHeaders?: readonly string[]
  /** Whether to send Via to the upstream (RFC 9110 section 7.6.3). Default `false`, since many servers do not compress then. */
  readonly via?: boolean
  /** Whether to forward a client's credentials. The configuration's default is no. */
  readonly passAuthorization: boolean
  /** Where a client's credential may be. Default Authorization. */
  readonly credentials?: CredentialPlaces
  /**
   * Whether a connection is used again after a request with a body. An upstream that ignores the length of a body takes the body
   * for the next request (CL.0), whose response then goes to the next client. The configuration's default is yes.
   */
  readonly reuseAfterBody: boolean
  /** For an https origin. Default: Node's authorities and no client certificate. */
  readonly tls?: UpstreamTls
  /** Whether a peer is a trusted proxy, whose facts about the client (X-Forwarded-* and the like) are kept. Default none. */
  readonly trustedProxies?: (address: string) => boolean
  /** Whether to forward a client's fields with unusual characters in their names, if they are only data. Default `false`. */
  readonly oddNames?: boolean
  /** Whether the gateway sends its own traceparent. Default `false`. */
  readonly traced?: boolean
}

/** For an https upstream. Its certificate is always verified, and no option changes that. */
export interface UpstreamTls {
  /** In PEM, instead of Node's authorities. */
  readonly ca?: string | Buffer
  /** Client certificate and key, PEM. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** The name to send (SNI) and to verify. Default the host of `url`. */
  readonly serverName?: string
}

export interface Forwarder {
  /** Sends the request and writes the upstream's response to `res`. */
  forward(exchange: Exchange, receiver: ForwardReceiver): void
  /** Opens a tunnel after the upstream has responded with 101. Resolves when the tunnel has ended, and never rejects. */
  upgrade(exchange: UpgradeExchange): Promise<ForwardResult>
  /**
   * Raw fields that describe a verified caller and his quota to the upstream.
   * @param caller `null` for none
   * @param quota the value of the quota field; `null` for none
   */
  ownFields(caller: VerifiedCaller | null, quota: string | null): string[]
  /** Whether requests wait because all connections are in use, or one has waited in vain in the last 10 seconds. */
  isFull(): boolean
  /** How much of all responses waits for clients that read slowly. */
  readonly held: Held
  /**
   * Resolves when nothing is in flight, tunnels included, and idle connections are closed. A later request that was
   * admitted under an older configuration is still served.
   */
  close(): Promise<void>
  /** Breaks everything off. */
  destroy(): Promise<void>
}
