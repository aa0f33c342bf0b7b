import { constants, fstatSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'

/**
 * Gives a file descriptor on which no write blocks: a full pipe or terminal then returns EAGAIN.
 *
 * At its end Node waits for a thread that is blocked in a write, also by `process.exit` (26.10). A stalled reader would so keep the
 * process alive. Node has no call that makes a descriptor non-blocking. So on Linux the pipe or terminal is opened once more by
 * `/proc/self/fd`, and other holders of the pipe or terminal are not affected.
 *
 * @returns the same descriptor if it cannot be opened again: for a file, a socket, or one of another user
 */
export function unblocked(fd: number): number {
  try {
    if (fstatSync(fd).isFIFO() || isatty(fd)) return openSync(`/proc/self/fd/${fd}`, ONLY_OURS)
  } catch {
    // It is written to all the same, or the write reports the error.
  }
  neverBlock(fd)
  return fd
}

const ONLY_OURS = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/** Affects all holders of this socket or pipe, as Node does with its own output. */
function neverBlock(fd: number): void {
  try {
    // Nothing is written by it: Node sets O_NONBLOCK on the descriptor of a new socket (26.10, libuv, `uv_pipe_open`).
    new Socket({ fd, readable: false, writable: true }).on('error', () => {}).unref()
  } catch {
    // This is a file, on which a write never waits for a reader.
  }
}
