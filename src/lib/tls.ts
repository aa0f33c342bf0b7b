import type { SecureContextOptions } from 'node:tls'

/** The certificate of a listener, or its certificates, read anew when their files change. */
export interface Certificate {
  /** The options of new connections, unless the client asks for a name that has its own certificate. */
  current(): SecureContextOptions
  /**
   * The options by the name that a client asks for. Names are in lower case, and `*.example.org` stands for one label. Empty if there is
   * one certificate, which every client gets.
   */
  byName(): ReadonlyMap<string, SecureContextOptions>
  /** Whether clients are asked for their certificate, which they need not have. Default no. */
  readonly asksClients?: boolean
  /** Calls the listener when new connections get other options from then on. */
  onChange(listener: () => void): void
  close(): void
}

/** The trusted authorities and the client certificate of connections that the gateway makes: PEM texts. */
export interface ClientCredentials {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** The name that the peer's certificate must have. Default the host that is connected to. */
  readonly serverName?: string
}
