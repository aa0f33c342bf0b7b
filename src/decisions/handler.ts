import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ClientPeer, IncomingRequest, RequestHandler } from '../edge/connection.ts'
import { SOON } from '../edge/denials.ts'
import { type Denial, denial, isDenial } from '../errors.ts'
import type { Asks } from './asks.ts'
import { originalOf } from './original.ts'
import { OF_SERVICES } from './paths.ts'

export interface DecisionsOptions {
  /** The gateway that decides, and forwards nothing. */
  readonly gateway: RequestHandler
  /** Responds to the questions of services. It is made at the first question. */
  readonly asks: () => Promise<Asks>
  /** The token that each asking request must have; `null` if no token is needed. */
  readonly token: string | null
}

/** Stands for the address of everybody who asks, because whoever asks by a Unix socket has none. */
export const HERE = '127.0.0.1'

/**
 * Serves proxies that ask whether a request may go on. The asking request is rewritten into the request in question and goes the usual way
 * through the gateway. Where the gateway would otherwise forward the request, it responds to the proxy.
 */
export function createDecisions({ gateway, token, asks }: DecisionsOptions): RequestHandler {
  const digest = token === null ? null : digestOf(token)
  return {
    handle(request) {
      const { req } = request
      const refused = request.ambiguity ?? (digest === null ? null : checkToken(req, digest))
      const isAsked = refused === null && OF_SERVICES.has(req.url ?? '')
      const asked = { ...request, ambiguity: refused ?? (isAsked ? null : become(req)), client: askerOf(request) }
      if (isAsked) {
        const late = () => gateway.handle({ ...asked, ambiguity: NOT_NOW })
        void asks().then((each) => each.handle(asked), late)
      } else gateway.handle(asked)
    },
    handleUpgrade: (upgrade) => gateway.handleUpgrade(upgrade),
    inFlight: () => gateway.inFlight(),
  }
}

/** The asking proxy as a peer whose address is believed. The other facts of its connection stay. */
function askerOf(request: IncomingRequest): ClientPeer {
  const { client } = request
  return {
    address: HERE,
    peer: HERE,
    isLikelyKnown: (address) => client.isLikelyKnown(address),
    accepted: (address) => client.accepted(address),
    served: () => client.served(request),
  }
}

/** Rewrites the asking request into the original. @returns why the original is not clear, so that nothing is rewritten; else `null` */
function become(req: IncomingMessage): Denial | null {
  const original = originalOf(req)
  if (isDenial(original)) return original
  req.method = original.method
  req.url = original.url
  return null
}

/** Authorization may hold the credential of the client, so the token has its own field. */
const TOKEN_FIELD = 'x-tollgate-token'

function checkToken({ headers }: IncomingMessage, digest: Buffer): Denial | null {
  const given = headers[TOKEN_FIELD]
  return typeof given === 'string' && timingSafeEqual(digestOf(given), digest) ? null : STRANGER
}

/** A digest always has the same length, as `timingSafeEqual` requires. */
function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The module for services could not be loaded, for example because no more files may be open. */
const NOT_NOW = denial('overloaded', 'The gateway cannot take a question now. Try again in a moment.', {
  headers: SOON,
})

const STRANGER = denial('unauthorized', 'Whoever asks here must send the token of decisions in X-Tollgate-Token.', {
  reason: 'no token of decisions',
  headers: { 'WWW-Authenticate': 'X-Tollgate-Token' },
})
