/** Signature algorithms that an issuer may use (RFC 7518 section 3.1, RFC 8037, RFC 9864). `none` is not among them. */
export interface Algorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP' | 'oct'
  readonly crv?: string
  /** Length of the hash, which is also the shortest allowed shared secret (RFC 7518, section 3.2). */
  readonly hashBytes: number
}

export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ['HS256', { kty: 'oct', hashBytes: 32 }],
  ['HS384', { kty: 'oct', hashBytes: 48 }],
  ['HS512', { kty: 'oct', hashBytes: 64 }],
  ['RS256', { kty: 'RSA', hashBytes: 32 }],
  ['RS384', { kty: 'RSA', hashBytes: 48 }],
  ['RS512', { kty: 'RSA', hashBytes: 64 }],
  ['PS256', { kty: 'RSA', hashBytes: 32 }],
  ['PS384', { kty: 'RSA', hashBytes: 48 }],
  ['PS512', { kty: 'RSA', hashBytes: 64 }],
  ['ES256', { kty: 'EC', crv: 'P-256', hashBytes: 32 }],
  ['ES384', { kty: 'EC', crv: 'P-384', hashBytes: 48 }],
  ['ES512', { kty: 'EC', crv: 'P-521', hashBytes: 64 }],
  ['EdDSA', { kty: 'OKP', crv: 'Ed25519', hashBytes: 64 }],
  ['Ed25519', { kty: 'OKP', crv: 'Ed25519', hashBytes: 64 }],
])
