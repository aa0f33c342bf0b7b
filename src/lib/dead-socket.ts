import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect } from 'node:net'

/**
 * Removes the file of a Unix socket that nobody listens on any more: a process that was killed leaves it behind, and no other could listen
 * there. Whatever else is at the path stays.
 */
export async function removeDeadSocket(path: string): Promise<void> {
  const socket = connect(path)
  const code = await once(socket, 'connect').then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  )
  socket.destroy()
  // A regular file is ENOTSOCK to some systems and refuses connections on Linux, too.
  if (code === 'ECONNREFUSED') await unlink(path)
}
