/** Requests of one address that begin in one turn of the event loop. */
const MAX_OF_ADDRESS = 8

/** Of each address those who wait, in the order in which they came. */
const waiting = new Map<string, (() => void)[]>()

/**
 * Waits for a turn of the event loop in which the address may begin one more request.
 *
 * libuv accepts one connection a turn (Node 26.10). Three hundred connections that are served in each turn make it so long that fifty others
 * wait for seconds until they are accepted.
 *
 * @param peer what the address counts as, see `peerOf`
 */
export function nextTurn(peer: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = waiting.get(peer)
    if (queue !== undefined) {
      queue.push(resolve)
      return
    }
    if (waiting.size === 0) setImmediate(begin)
    waiting.set(peer, [resolve])
  })
}

function begin(): void {
  for (const [peer, queue] of waiting) {
    for (const resolve of queue.splice(0, MAX_OF_ADDRESS)) resolve()
    if (queue.length === 0) waiting.delete(peer)
  }
  if (waiting.size > 0) setImmediate(begin)
}
