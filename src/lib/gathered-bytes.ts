/** The most pieces that wait to be put together. */
const MAX_LOOSE = 256

/**
 * Gathers the pieces of a body. Each piece is a Buffer of its own, and a body of 4 MB in pieces of one byte would take
 * more than 400 MB (Node 26.10). So pieces are put together on the way.
 */
export function gather() {
  const joined: Buffer[] = []
  let loose: Buffer[] = []
  let size = 0

  /** @returns the bytes so far */
  function add(piece: Buffer): number {
    size += piece.length
    if (loose.push(piece) >= MAX_LOOSE) {
      joined.push(Buffer.concat(loose))
      loose = []
    }
    return size
  }

  function whole(): Buffer {
    const [only] = loose
    return joined.length === 0 && loose.length === 1 && only !== undefined ? only : Buffer.concat([...joined, ...loose])
  }

  return { add, whole }
}
