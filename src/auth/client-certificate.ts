import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isUserId } from '../control/user-id.ts'
import { type Denial, isDenial, messageOf } from '../errors.ts'
import type { Asking } from './asking.ts'
import { type Caller, callerOf, invalid } from './verdict.ts'
import { identityOf, type NameType, namesIn } from './x509.ts'

/** The present rules for client certificates. A changed file makes another object. */
export interface CertificateRules {
  readonly authorities: readonly X509Certificate[]
  /** Revoked certificates, by `identityOf`. */
  readonly revoked: ReadonlySet<string>
  /** The type of the name that becomes the user. */
  readonly user: NameType
  /** How long after its issue a certificate is accepted, in milliseconds; `null` for as long as it says. */
  readonly maxAgeMs: number | null
}

/** The prefix of the id of a user whom a client certificate names. */
export const CERTIFICATE_PREFIX = 'certificate:'

interface Judged {
  readonly rules: CertificateRules
  readonly result: Caller | Denial
  /** When the certificate begins to be valid, in milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

const judged = new WeakMap<TLSSocket, Judged>()

const ENDED = invalid('the client certificate has ended, or is older than max_age', 'The client certificate has ended.')

/**
 * The user that the certificate of a connection names; `null` without one. The handshake has verified the chain by the
 * authorities of that time. Later changes of the rules are applied here, once for each change.
 * @param now milliseconds since the epoch
 */
export function certificateCaller(socket: Socket, rules: CertificateRules, now = Date.now()): Caller | Denial | null {
  if (!(socket instanceof TLSSocket)) return null
  let known = judged.get(socket)
  if (known?.rules !== rules) {
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return null
    known = { rules, result: judge(socket, certificate, rules), ...timesOf(certificate, rules) }
    judged.set(socket, known)
  }
  if (isDenial(known.result)) return known.result
  return now >= known.from && now < known.until ? known.result : ENDED
}

/** Reads the certificate of a request's connection, except a trusted proxy's, which does not name the proxy's clients. */
export function createCertificateReader(rules: () => CertificateRules, isProxy: (address: string) => boolean) {
  return ({ req: { socket }, client }: Asking): Caller | Denial | null =>
    socket === undefined || isProxy(client.address) ? null : certificateCaller(socket, rules())
}

function timesOf({ validFromDate, validToDate }: X509Certificate, { maxAgeMs }: CertificateRules) {
  const [from, to] = [validFromDate.getTime(), validToDate.getTime()]
  return { from, until: maxAgeMs === null ? to : Math.min(to, from + maxAgeMs) }
}

function judge(socket: TLSSocket, leaf: X509Certificate, rules: CertificateRules): Caller | Denial {
  if (!socket.authorized) return refused(String(socket.authorizationError ?? 'not verified'))
  try {
    const chain = chainOf(leaf, rules.authorities)
    if (chain === null) return refused('its authority is none of auth.client_certificate.ca any more')
    if (chain.some(({ raw }) => rules.revoked.has(identityOf(raw)))) return refused('CERT_REVOKED')
    const [name, ...more] = namesIn(leaf.raw, rules.user)
    if (name === undefined || more.length > 0)
      return refused(`it has ${more.length === 0 ? 'no' : 'several'} ${rules.user}`)
    const user = CERTIFICATE_PREFIX + name
    return name !== '' && isUserId(user) ? callerOf(user, 'certificate') : refused(`its ${rules.user} is no user id`)
  } catch (error) {
    return refused(messageOf(error))
  }
}

/**
 * The chain from the leaf to one of the authorities, each signed by the next; `null` if there is none. Node links the certificates that a
 * client has sent by their names only.
 */
function chainOf(leaf: X509Certificate, authorities: readonly X509Certificate[]): X509Certificate[] | null {
  const chain: X509Certificate[] = []
  for (let last: X509Certificate | undefined = leaf; last !== undefined; ) {
    chain.push(last)
    const signer = authorities.find((authority) => isSignedBy(last as X509Certificate, authority))
    if (signer !== undefined) return [...chain, signer]
    const next: X509Certificate | undefined = last.issuerCertificate
    if (next === undefined || chain.length > MAX_CHAIN || !isSignedBy(last, next)) return null
    last = next
  }
  return null
}

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

const MAX_CHAIN = 10

function refused(why: string): Denial {
  return invalid(`client certificate: ${why}`, 'The client certificate is not valid.')
}
