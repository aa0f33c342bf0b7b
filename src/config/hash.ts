import { createHash } from 'node:crypto'

/** 64 bits of SHA-256 in hexadecimal: the first 16 characters that `sha256sum FILE` prints. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
