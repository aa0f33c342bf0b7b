import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'

/**
 * Removes the file of a Unix socket on which nobody listens any more. A process that was killed leaves the file behind, and no other
 * process could listen there. Anything else at the path stays, also a plain file, for which Linux reports that it refuses connections.
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
