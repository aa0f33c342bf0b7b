/**
 * Acts when a deadline has passed. If this process was held up, a response may have arrived meanwhile. So the timer waits
 * for the next immediate, by which such a response is read.
 */
export function afterDeadline(ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), Math.max(1, ms))
}
