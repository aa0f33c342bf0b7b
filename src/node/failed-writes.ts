import type { Socket } from 'node:net'

type Done = (error?: Error | null) => void

/**
 * Keeps a socket open whose other end takes no more, so that what it has sent before is read.
 *
 * Node destroys a socket whose write fails (26.10), with all that its kernel has received and nobody has read yet: the response of a
 * server that refuses an upload and closes. Methods of the socket's own hide those that write, and report success instead. The end of
 * the connection, or its error, is then what reading brings.
 *
 * @param onFailed called with the first error, within the write
 */
export function outliveFailedWrites(socket: Socket, onFailed: (error: Error) => void): void {
  const { _write, _writev } = socket
  let failed = false
  const outlived =
    (done: Done): Done =>
    (error) => {
      if (error && !failed) {
        failed = true
        onFailed(error)
      }
      done()
    }
  socket._write = (chunk, encoding, done) => _write.call(socket, chunk, encoding, outlived(done))
  if (_writev) socket._writev = (chunks, done) => _writev.call(socket, chunks, outlived(done))
}

/** Undoes `outliveFailedWrites`. */
export function failByWrites(socket: Socket): void {
  Reflect.deleteProperty(socket, '_write')
  Reflect.deleteProperty(socket, '_writev')
}
