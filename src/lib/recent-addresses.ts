/**
 * Addresses for which something was noted recently. Each is remembered for one to two periods. If more than `most` come within one
 * period, the oldest are forgotten earlier.
 */
export class RecentAddresses {
  readonly #periodMs: number
  readonly #most: number
  readonly #now: () => number
  /** The addresses of this period, which began at `#since`, and of the one before. */
  #current = new Set<string>()
  #before = new Set<string>()
  #since = Number.NEGATIVE_INFINITY

  /**
   * @param most how many of one period are remembered. So at most twice as many are in memory, with about 100 bytes each
   * @param now monotonic milliseconds
   */
  constructor(periodMs: number, most: number, now: () => number = () => performance.now()) {
    this.#periodMs = periodMs
    this.#most = most
    this.#now = now
  }

  has(address: string): boolean {
    this.#forget()
    return this.#current.has(address) || this.#before.has(address)
  }

  add(address: string): void {
    this.#forget()
    if (this.#current.size >= this.#most && !this.#current.has(address)) this.#beginPeriod(this.#current)
    this.#before.delete(address)
    this.#current.add(address)
  }

  /** How many addresses are remembered. */
  get size(): number {
    this.#forget()
    return this.#current.size + this.#before.size
  }

  #forget(): void {
    const elapsed = this.#now() - this.#since
    if (elapsed >= this.#periodMs) this.#beginPeriod(elapsed < 2 * this.#periodMs ? this.#current : new Set())
  }

  #beginPeriod(before: Set<string>): void {
    this.#before = before
    this.#current = new Set()
    this.#since = this.#now()
  }
}
