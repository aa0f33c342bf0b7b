export interface LagMeter {
  /** How late the event loop lastingly is, in milliseconds. */
  lasting(): number
  stop(): void
}

const EVERY_MS = 50
const SAMPLES = 3

/**
 * Measures how late a timer fires. The least of the last samples counts: one long pause (a garbage collection, a stopped
 * process) is over when it is seen, and nothing is gained by turning requests away then; overload stays.
 */
export function createLagMeter(): LagMeter {
  const samples = new Array<number>(SAMPLES).fill(0)
  let due = performance.now() + EVERY_MS
  let lasting = 0
  const timer = setInterval(() => {
    const now = performance.now()
    samples.shift()
    samples.push(Math.max(0, now - due))
    lasting = Math.min(...samples)
    due = now + EVERY_MS
  }, EVERY_MS).unref()
  return { lasting: () => lasting, stop: () => clearInterval(timer) }
}
