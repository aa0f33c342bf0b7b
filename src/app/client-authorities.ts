import { constants, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { CertificateRules } from '../auth/client-certificate.ts'
import { revokedBy } from '../auth/x509.ts'
import type { AuthConfig } from '../config/config.ts'
import { hashText } from '../config/hash.ts'
import { type ConfigWatch, watchConfig } from '../config/watch.ts'
import { messageOf } from '../errors.ts'
import type { Certificate } from '../lib/tls.ts'
import type { Observer } from '../observe/observation.ts'
import { made, named, read } from './pem-files.ts'
import { SetupError } from './setup-error.ts'

export type ClientCertificateConfig = NonNullable<AuthConfig['clientCertificate']>

/** The issuers of client certificates. Their files are watched until the certificate that `asking` returns is closed. */
export interface ClientAuthorities {
  /** The present rules for certificates. */
  rules(): CertificateRules
  /** A listener's certificate that also requests one from clients. */
  asking(certificate: Certificate): Certificate
}

interface Read {
  readonly rules: CertificateRules
  readonly options: SecureContextOptions
  /** The hash of each file that was read, for `watchConfig`. */
  readonly hashes: readonly (readonly [file: string, hash: string])[]
}

const PLACE = ['auth', 'client_certificate']

/**
 * New files apply to all connections at once, even to open ones. Invalid files are reported, and the old ones stay.
 * @throws SetupError with the cure
 */
export function openClientAuthorities(config: ClientCertificateConfig, observe: Observer): ClientAuthorities {
  let current = readClientAuthorities(config)
  const listeners: (() => void)[] = []
  const watches: ConfigWatch[] = current.hashes.map(([file, loadedHash]) => watchConfig(file, reread, { loadedHash }))

  function reread(): void {
    try {
      current = readClientAuthorities(config)
      for (const listener of listeners) listener()
      observe({
        type: 'client_authorities_loaded',
        file: config.ca,
        authorities: current.rules.authorities.length,
        revoked: current.rules.revoked.size,
      })
    } catch (error) {
      observe({
        type: 'certificate_refused',
        listener: 'gateway',
        files: 'client_authorities',
        file: config.ca,
        problem: messageOf(error),
      })
    }
  }

  function asking(certificate: Certificate): Certificate {
    const all = (own: SecureContextOptions) => ({
      ...own,
      ...current.options,
      secureOptions: (own.secureOptions ?? 0) | NO_RESUMPTION,
    })
    return {
      ...certificate,
      asksClients: true,
      current: () => all(certificate.current()),
      byName: () => new Map([...certificate.byName()].map(([name, own]) => [name, all(own)])),
      onChange(listener) {
        certificate.onChange(listener)
        listeners.push(listener)
      },
      close() {
        for (const watch of watches) watch.close()
        certificate.close()
      },
    }
  }

  return { rules: () => current.rules, asking }
}

/** A resumed session would bring a certificate that nobody verifies again. */
const NO_RESUMPTION = constants.SSL_OP_NO_TICKET

/** @throws SetupError with the cure */
export function readClientAuthorities({ ca, crl, user, maxAgeMs }: ClientCertificateConfig): Read {
  const authorities = readBlocks(ca, 'ca', 'CERTIFICATE')
  const lists = crl === null ? null : readBlocks(crl, 'crl', 'X509 CRL')
  const options = { ca: authorities.blocks, ...(lists !== null && { crl: lists.blocks }) }
  const certificates = madeAt('ca', ca, 'one or more certificates in PEM', () => {
    createSecureContext({ ca: authorities.blocks })
    return authorities.blocks.map((block) => new X509Certificate(block))
  })
  const revoked = madeAt('crl', crl ?? ca, 'one or more revocation lists in PEM', () => {
    createSecureContext(options)
    return (lists?.blocks ?? []).flatMap((block) => revokedBy(derOf(block)))
  })
  const rules = { authorities: certificates, revoked: new Set(revoked), user, maxAgeMs }
  const files = [authorities, ...(lists === null ? [] : [lists])]
  return { rules, options, hashes: files.map(({ file, text }) => [file, hashText(text)]) }
}

function readBlocks(file: string, key: string, type: string) {
  const text = named([...PLACE, key], () => read(file))
  const blocks = text.match(new RegExp(`-----BEGIN ${type}-----[\\s\\S]*?-----END ${type}-----`, 'g'))
  if (blocks === null) throw new SetupError([...PLACE, key], `${file} holds no ${type} in PEM: replace it`)
  return { file, text, blocks: [...blocks] }
}

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
}

function madeAt<T>(key: string, file: string, what: string, make: () => T): T {
  return named([...PLACE, key], () => made(file, what, make))
}
