import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { AccessKeyRecord } from './access-key-store.ts'

/**
 * Access keys consist of `gw_`, 32 random characters, and 6 characters of checksum. Thanks to the checksum a mistyped
 * or foreign credential is refused without asking the store, and secret scanners recognise a real key.
 */

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_CHARS = 32
const SHAPE = /^gw_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/

/** Whether a text may be the name of a key: 1 to 64 characters without control characters, which would break a list. */
export function isTokenName(name: string): boolean {
  const length = [...name].length
  return length >= 1 && length <= 64 && name.isWellFormed() && !/\p{Cc}/u.test(name)
}

/** Makes a key and its record. The key is shown once, and cannot be restored. */
export function mintToken(
  owner: Pick<AccessKeyRecord, 'user' | 'name' | 'plan' | 'organisation' | 'expiresAt'>,
  now: number,
): { token: string; record: AccessKeyRecord } {
  const secret = randomText(SECRET_CHARS)
  const token = `gw_${secret}${checksum(secret)}`
  return { token, record: { id: randomUUID(), hash: hashAccessKey(token), ...owner, createdAt: now, revokedAt: null } }
}

/** The prefix of the id of an access key from another system. Such a key may have any form. */
const IMPORTED = 'imported-'

/** The record of an access key from another system, by its SHA-256 in hexadecimal. */
export function importedRecord(
  key: Pick<AccessKeyRecord, 'hash' | 'user' | 'name' | 'plan' | 'organisation' | 'expiresAt'>,
  now: number,
): AccessKeyRecord {
  return { id: `${IMPORTED}${randomUUID()}`, ...key, createdAt: now, revokedAt: null }
}

export function isImported({ id }: Pick<AccessKeyRecord, 'id'>): boolean {
  return id.startsWith(IMPORTED)
}

/** Whether a credential has the form and the checksum of an access key. The store need not know the key. */
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

/** Uniform over the alphabet: bytes from 248 on are thrown away, because 256 is no multiple of 62. */
function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
  }
  return text
}
