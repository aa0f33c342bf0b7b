import type { ChildProcess, Serializable } from 'node:child_process'

interface Handle {
  close(): void
}

/** The worker to which a connection was handed last. If a closing worker gave the connection back, that is another worker by then. */
const holders = new WeakMap<Handle, ChildProcess>()

const LOOK_MS = 10

/**
 * Closes the connection that a worker was being handed when it died. Node hands a worker one connection at a time and keeps
 * its own copy until the worker confirms it. If the worker dies, that copy stays open for ever and the client waits for a
 * response in vain (Node 26.10, lib/internal/cluster/round_robin_handle.js, `handoff`). With the copy closed the client
 * notices it at once. A second close does nothing.
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
 * With a connection on its way to the worker, Node leaves out the event that `closeUntaken` and `cluster` wait for
 * (lib/internal/child_process.js, `disconnect`: it waits for a queue that is never emptied).
 */
function sayDisconnect(worker: ChildProcess): void {
  let said = false
  worker.once('disconnect', () => {
    said = true
  })
  worker.once('exit', function look() {
    // Messages of the worker are read first: it may have taken the connection, or given it back.
    if (worker.connected) setTimeout(look, LOOK_MS)
    else setImmediate(() => said || worker.emit('disconnect'))
  })
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value
}
