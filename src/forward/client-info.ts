import type { IncomingMessage } from 'node:http'
import type { Trace } from '../lib/trace-context.ts'
import type { IdentityFact, VerifiedCaller } from './contract.ts'

/** Where a request came from, and who sent it. */
export interface Origin {
  /** Address of the TCP peer. */
  readonly peer: string
  readonly encrypted: boolean
  /** `1.0` or `1.1`. */
  readonly httpVersion: string
  readonly caller: VerifiedCaller | null
  readonly passCredentials?: boolean
  readonly requestId: string
  readonly trace?: Trace | null
  /** The value of the quota field; `null` for none. */
  readonly quota?: string | null
  readonly method: string
}

interface Call {
  readonly req: IncomingMessage
  readonly caller: VerifiedCaller | null
  readonly passCredentials?: boolean
  readonly requestId: string
  readonly trace?: Trace | null
  readonly quota?: string | null
}

export function originOf({
  req,
  caller,
  passCredentials = false,
  requestId,
  trace = null,
  quota = null,
}: Call): Origin {
  const { httpVersion, method = '', socket } = req
  const encrypted = 'encrypted' in socket
  return { peer: addressOfPeer(req), encrypted, httpVersion, caller, passCredentials, requestId, trace, quota, method }
}

/** IPv4 addresses have their usual form even if the listener uses IPv6. */
function addressOfPeer(req: IncomingMessage): string {
  const address = req.socket.remoteAddress ?? 'unknown'
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

/** `null` if the fact is unknown. */
export function factOf(caller: VerifiedCaller, fact: IdentityFact): string | null {
  if (fact.kind !== 'claim') return caller[fact.kind]
  return Object.hasOwn(caller.claims, fact.path) ? (caller.claims[fact.path] ?? null) : null
}

const PLAIN = /^[!-$&-~]+$/

/**
 * A fact about a caller as a field value. UTF-8 bytes outside visible ASCII, and `%` itself, are percent-encoded, so that
 * decoding gives exactly the same text.
 */
export function encodeFact(fact: string): string {
  if (PLAIN.test(fact)) return fact
  let text = ''
  for (const byte of Buffer.from(fact, 'utf8')) {
    const plain = byte > 0x20 && byte < 0x7f && byte !== 0x25
    text += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}
