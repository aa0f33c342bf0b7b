import type { SecureContextOptions } from 'node:tls'

/** The certificate of a listener, or its certificates, kept up to their files. */
export interface Certificate {
  /** What connections are made with now, unless the client asks for a name that has a certificate of its own. */
  current(): SecureContextOptions
  /**
   * By the name that a client asks for, what its connection is made with instead. Names are in lower case, and `*.example.org` stands for
   * one label. Empty if there is one certificate, which everybody gets.
   */
  byName(): ReadonlyMap<string, SecureContextOptions>
  /** Whether clients are asked for a certificate of theirs, which they need not have. Default no. */
  readonly asksClients?: boolean
  /** Is called when new connections are to be made with something else from then on. */
  onChange(listener: () => void): void
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
