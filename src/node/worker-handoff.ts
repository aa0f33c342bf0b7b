import type { ChildProcess, Serializable } from 'node:child_process'

interface Handle {
  close(): void
}

/** To whom a connection was handed last: one that a closing worker gave back is another's by then. */
const holders = new WeakMap<Handle, ChildProcess>()

const LOOK_MS = 10

/**
 * Closes the connection that a worker was being handed when it died. Node hands a worker one connection at a time and keeps
 * its own copy until the worker says that it has it; with the worker dead, that copy stays open for ever and the client
 * waits for an answer that nobody will give (Node 26.10, lib/internal/cluster/round_robin_handle.js, `handoff`). Closed,
 * the client sees it at once. Closing twice does nothing.
 */
export function closeUntaken(worker: ChildProcess): void {
  const send = worker.send.bind(worker) as (message: Serializable, handle?: unknown, ...rest: unknown[]) => boolean
  let last: Handle | null = null
  function sendAndRemember(message: Serializable, handle?: unknown, ...rest: unknown[]): boolean {
    if (isHandle(handle)) {
      last = handle
      holders.set(handle, worker)
    }
    return send(message, handle, ...rest)
  }
  worker.send = sendAndRemember as ChildProcess['send']
  worker.once('disconnect', () => {
    if (last !== null && holders.get(last) === worker) last.close()
  })
  sayDisconnect(worker)
}

/**
 * With a connection on its way to the worker Node leaves the event out that `closeUntaken` and `cluster` wait for
 * (lib/internal/child_process.js, `disconnect`: it waits for a queue that is never worked off).
 */
function sayDisconnect(worker: ChildProcess): void {
  let said = false
  worker.once('disconnect', () => {
    said = true
  })
  worker.once('exit', function look() {
    // What the worker has said is read first: it may have taken the connection, or given it back.
    if (worker.connected) setTimeout(look, LOOK_MS)
    else setImmediate(() => said || worker.emit('disconnect'))
  })
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value
}
