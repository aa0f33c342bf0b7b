import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'

/**
 * Removes the file of a Unix socket that nobody listens on any more: a process that was killed leaves it behind, and no other could listen
 * there. Whatever else is at the path stays, also a file, of which Linux says that it refuses connections.
 */
export async function removeDeadSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null)
  if (found === null || !found.isSocket()) return
  const socket = connect(path)
  const code = await once(socket, 'connect').then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  )
  socket.destroy()
  if (code === 'ECONNREFUSED') await unlink(path)
}
