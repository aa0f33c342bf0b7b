import type { Socket } from 'node:net'

type Done = (error?: Error | null) => void

/**
 * Keeps a socket open although its other end accepts no more, so that the bytes that the other end has sent are read.
 *
 * Node destroys a socket whose write fails (26.10), with all bytes that the kernel has received and nobody has read, for example the
 * response of a server that refuses an upload and closes. Methods on the socket itself hide those that write, and report success instead.
 * Reading then brings the end of the connection, or its error.
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
