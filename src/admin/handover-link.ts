import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * A link by which somebody gets an access key once. Its code is in nobody's memory but that of who has the link: what the store knows
 * a handover by, and the key that it is sealed with, are both drawn from the code, and neither gives it back.
 */

/** Of a code, at random. */
const CODE_BYTES = 32
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

export function newCode(): string {
  return randomBytes(CODE_BYTES).toString('base64url')
}

/** Whether a text may be a code. */
export function isCode(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** What the store knows the handover by. */
export function idOf(code: string): string {
  return drawn(code, 'id').toString('base64url')
}

export function sealed(text: string, code: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, drawn(code, 'key'), iv)
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64url')
}

/** `null` for what was not sealed with this code. */
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
