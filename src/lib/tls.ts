import type { SecureContextOptions } from 'node:tls'

/** The certificate of a listener, kept up to its files. */
export interface Certificate {
  /** What connections are made with now. */
  current(): SecureContextOptions
  /** Whether clients are asked for a certificate of theirs, which they need not have. Default no. */
  readonly asksClients?: boolean
  /** Is called with what new connections are to be made with from then on. */
  onChange(listener: (next: SecureContextOptions) => void): void
  close(): void
}

/** What connections that the gateway makes are trusted by and sign in with: PEM texts. */
export interface ClientCredentials {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** Name to expect in the other's certificate. Default the host that is connected to. */
  readonly serverName?: string
}
