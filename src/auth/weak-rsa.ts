import { decodeBase64url, type JsonObject, member } from './jwt-encoding.ts'

const LEAST_BITS = 2048

/** Why an RSA public key in JWK form must not be trusted; `null` if it may be. */
export function rsaWeakness(jwk: JsonObject): string | null {
  const n = readInteger(member(jwk, 'n'))
  const e = readInteger(member(jwk, 'e'))
  if (n === null || e === null) return 'malformed RSA key'
  const bits = n.toString(2).length
  if (bits < LEAST_BITS) return `RSA key of ${bits} bits, at least ${LEAST_BITS} are needed`
  // With e = 1 the signature is the padded hash itself, so anyone can write it.
  if (e < 3n || e % 2n === 0n) return `RSA exponent ${e < 3n ? e : 'even'}`
  return hasRocaFingerprint(n) ? 'RSA key made by a chip with the ROCA fault (CVE-2017-15361)' : null
}

function readInteger(text: unknown): bigint | null {
  const bytes = typeof text === 'string' ? decodeBase64url(text) : null
  return bytes === null || bytes.length === 0 ? null : BigInt(`0x${bytes.toString('hex')}`)
}

/**
 * The fingerprint of Nemec, Sys, Svenda, Klinec, Matyas: "The Return of Coppersmith's Attack" (CCS 2017):
 * the faulty generator makes primes k*M + (65537^a mod M), M a product of the first primes, so the modulus is a power of
 * 65537 modulo every small prime. The primes up to 167 divide M at every key length. About one sound key in 2^27 is taken
 * for a faulty one.
 */
export function hasRocaFingerprint(n: bigint): boolean {
  return POWERS.every(({ prime, powers }) => powers.has(Number(n % BigInt(prime))))
}

const POWERS = oddPrimes(167).map((prime) => ({ prime, powers: powersOf(65537 % prime, prime) }))

function powersOf(base: number, prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * base) % prime) powers.add(power)
  return powers
}

function oddPrimes(last: number): number[] {
  const primes: number[] = []
  for (let n = 3; n <= last; n += 2) if (primes.every((p) => n % p !== 0)) primes.push(n)
  return primes
}
