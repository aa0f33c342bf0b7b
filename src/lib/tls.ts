import type { SecureContextOptions } from 'node:tls'

/** The certificate of a listener, kept up to its files. */
export interface Certificate {
  /** What connections are made with now. */
  current(): SecureContextOptions
  /** Is called with what new connections are to be made with from then on. */
  onChange(listener: (next: SecureContextOptions) => void): void
  close(): void
}
