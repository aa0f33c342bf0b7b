import { createHash, timingSafeEqual } from 'node:crypto'

/** A check for one shared secret. Hashing first makes the comparison independent of the length that was sent. */
export function secretCheck(secret: string): (sent: string | string[] | undefined) => boolean {
  const expected = sha256(secret)
  return (sent) => typeof sent === 'string' && timingSafeEqual(sha256(sent), expected)
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
