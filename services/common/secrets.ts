import { createHash, timingSafeEqual } from 'node:crypto'

/** A check for one shared secret. Both texts are hashed, so that the comparison does not depend on the sent length. */
export function secretCheck(secret: string): (sent: string | string[] | undefined) => boolean {
  const expected = sha256(secret)
  return (sent) => typeof sent === 'string' && timingSafeEqual(sha256(sent), expected)
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
