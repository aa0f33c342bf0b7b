import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * A link that gives somebody an access key once. Only the owner of the link knows its code. The name of the handover in the store and
 * the key that encrypts it are derived from the code, and neither reveals it.
 */

/** The size of a random code in bytes. */
const CODE_BYTES = 32
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

export function newCode(): string {
  return randomBytes(CODE_BYTES).toString('base64url')
}

/** Whether a text has the form of a code. */
export function isCode(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** The name of the handover in the store. */
export function idOf(code: string): string {
  return drawn(code, 'id').toString('base64url')
}

export function sealed(text: string, code: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, drawn(code, 'key'), iv)
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64url')
}

/** `null` if the text was not encrypted with this code. */
export function unsealed(text: string, code: string): string | null {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, drawn(code, 'key'), bytes.subarray(0, IV_BYTES))
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}

function drawn(code: string, what: 'id' | 'key'): Buffer {
  return Buffer.from(hkdfSync('sha256', code, '', `tollgate handover ${what} 1`, 32))
}
