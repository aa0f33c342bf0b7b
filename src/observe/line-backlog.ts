/** Bytes of a block. Lines become bytes at once: a string that grows to this size costs twice the time by its garbage. */
const BLOCK = 65_536

/** Lines that wait to be written, as bytes: full blocks, and the block that is being filled. */
export class LineBacklog {
  #block = Buffer.allocUnsafeSlow(BLOCK)
  #filled = 0
  readonly #full: Buffer[] = []
  #fullBytes = 0

  get bytes(): number {
    return this.#fullBytes + this.#filled
  }

  /** Whether the block that is being filled is the next one to be written. */
  get isLastBlock(): boolean {
    return this.#full.length === 0
  }

  add(lines: string): void {
    if (!fits(lines, BLOCK - this.#filled)) this.#seal()
    if (fits(lines, BLOCK)) this.#filled += this.#block.write(lines, this.#filled)
    else this.#push(Buffer.from(lines))
  }

  /** @returns the oldest block. There must be one */
  take(): Buffer {
    if (this.isLastBlock) this.#seal()
    const bytes = this.#full.shift() as Buffer
    this.#fullBytes -= bytes.length
    return bytes
  }

  /** Puts back the unwritten rest of the block that was taken last. */
  putBack(bytes: Buffer): void {
    this.#full.unshift(bytes)
    this.#fullBytes += bytes.length
  }

  /** @returns how many lines are dropped */
  clear(): number {
    this.#seal()
    this.#fullBytes = 0
    return this.#full.splice(0).reduce((sum, bytes) => sum + linesIn(bytes), 0)
  }

  #seal(): void {
    if (this.#filled === 0) return
    this.#push(this.#block.subarray(0, this.#filled))
    this.#block = Buffer.allocUnsafeSlow(BLOCK)
    this.#filled = 0
  }

  #push(bytes: Buffer): void {
    this.#full.push(bytes)
    this.#fullBytes += bytes.length
  }
}

export function linesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** UTF-8 needs at most three bytes for a unit of a string. */
function fits(text: string, room: number): boolean {
  return 3 * text.length <= room || Buffer.byteLength(text) <= room
}
