import { constants, fstatSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'

/**
 * Makes a file descriptor that no write waits for: a full pipe or terminal then says EAGAIN.
 *
 * The end of Node waits for a thread that waits within a write, also by `process.exit` (26.10). A reader that stalls would so keep the
 * process. Node has no call for it, so Linux opens a pipe or terminal once more by `/proc/self/fd`: whoever else has it is not concerned.
 *
 * @returns the same descriptor if there is no other: for a file, a socket, or what belongs to another user
 */
export function unblocked(fd: number): number {
  try {
    if (fstatSync(fd).isFIFO() || isatty(fd)) return openSync(`/proc/self/fd/${fd}`, ONLY_OURS)
  } catch {
    // It is written all the same, or the write reports it.
  }
  neverBlock(fd)
  return fd
}

const ONLY_OURS = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/** Concerns all who have this very socket or pipe, as Node does with what it writes to itself. */
function neverBlock(fd: number): void {
  try {
    // Nothing goes through it: Node sets O_NONBLOCK on what it makes a socket of (26.10, libuv, `uv_pipe_open`).
    new Socket({ fd, readable: false, writable: true }).on('error', () => {}).unref()
  } catch {
    // A file, which keeps nobody waiting for a reader.
  }
}
