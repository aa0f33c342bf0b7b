import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * Gateway tokens: `gw_`, 32 random characters, 6 characters of checksum. The checksum lets a mistyped or foreign
 * credential be refused without asking the store, and lets secret scanners tell a real one from noise.
 */

/** What is kept of a gateway token. The token itself is not: only its SHA-256. */
export interface AccessKeyRecord {
  readonly id: string
  /** SHA-256 of the whole token, in hexadecimal. */
  readonly hash: string
  /** The user on whose quota it draws. */
  readonly user: string
  readonly name: string
  /** What its user has while it is used. Default none. */
  readonly plan?: string
  readonly organisation?: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Milliseconds since the epoch; `null` for a token that does not end by itself. */
  readonly expiresAt: number | null
  /** Milliseconds since the epoch; `null` while the token is good. */
  readonly revokedAt: number | null
}

export interface AccessKeysStep {
  readonly records: readonly AccessKeyRecord[]
  /** Where the next step begins; `null` at the end. */
  readonly next: string | null
}

/** An access key that the store knows. */
export interface FoundAccessKey {
  readonly id: string
  readonly hash: string
  /** `null` if it cannot be read: nobody is let in by the access key, and it can be revoked. */
  readonly record: AccessKeyRecord | null
}

/** Access keys are made and revoked by `ControlStore.change`, together with the entry in the audit. */
export interface AccessKeyStore {
  /** Those of these ids that are known, in any order. @throws StoreError */
  findTokens(ids: readonly string[]): Promise<readonly FoundAccessKey[]>
  /** @param hash SHA-256 of the access key. @returns `null` if it is not known. @throws StoreError */
  findTokenByHash(hash: string): Promise<FoundAccessKey | null>
  /**
   * Some records of all, revoked and expired ones too. One that is there from the first step to the last is in one of them, perhaps in two.
   * @param from `null` for the first step, then `next` of the step before
   * @throws StoreError
   */
  readTokens(from: string | null): Promise<AccessKeysStep>
  /** All records, newest first. @throws StoreError */
  listTokens(): Promise<readonly AccessKeyRecord[]>
  /** Removes those that expired or were revoked before a moment, in milliseconds since the epoch. @throws StoreError */
  removeTokens(endedBefore: number): Promise<void>
}

/** How long the record of an access key is kept when nobody is let in by it any more, in milliseconds. */
export const KEEP_ENDED_MS = 30 * 86_400_000

/** When it was revoked or expired, or will expire, in milliseconds since the epoch; infinite for never. */
export function endOfToken({ expiresAt, revokedAt }: Pick<AccessKeyRecord, 'expiresAt' | 'revokedAt'>): number {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, revokedAt ?? Number.POSITIVE_INFINITY)
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_CHARS = 32
const SHAPE = /^gw_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** Whether a text may name a token: 1 to 64 characters, none of them a control character, which would break a list. */
export function isTokenName(name: string): boolean {
  const length = [...name].length
  return length >= 1 && length <= 64 && name.isWellFormed() && !/\p{Cc}/u.test(name)
}

/** Makes a token and the record to keep. The token is shown once and cannot be had again. */
export function mintToken(
  owner: Pick<AccessKeyRecord, 'user' | 'name' | 'plan' | 'organisation' | 'expiresAt'>,
  now: number,
): { token: string; record: AccessKeyRecord } {
  const secret = randomText(SECRET_CHARS)
  const token = `gw_${secret}${checksum(secret)}`
  return { token, record: { id: randomUUID(), hash: hashAccessKey(token), ...owner, createdAt: now, revokedAt: null } }
}

/** Whether a credential has the shape and the checksum of a gateway token. Says nothing of its being known. */
export function looksLikeAccessKey(credential: string): boolean {
  const match = SHAPE.exec(credential)
  return match !== null && checksum(match[1] ?? '') === match[2]
}

export function hashAccessKey(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < 6; i++) {
    text = ALPHABET[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** Uniform over the alphabet: bytes of 248 and above are thrown away, since 256 is no multiple of 62. */
function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
  }
  return text
}
