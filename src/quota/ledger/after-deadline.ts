/**
 * Acts when a deadline has passed. If this process was held up, a response may be there already: it is read before the next
 * immediate.
 */
export function afterDeadline(ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), Math.max(1, ms))
}
