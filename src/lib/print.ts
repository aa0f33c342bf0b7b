let isWatched = false

/**
 * Ends the process with 1 and a line on the standard error if the standard output could not be written: console.log does not report
 * that. A reader that has seen enough, as `| head` has, is no failure.
 */
export function insistOnOutput(): void {
  isWatched = true
  let failure: NodeJS.ErrnoException | null = null
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') failure ??= error
  })
  process.once('exit', (code) => {
    if (failure === null || code !== 0) return
    console.error(`tollgate: the standard output cannot be written: ${failure.message}`)
    process.exitCode = 1
  })
}

/**
 * Writes a text that somebody asked for to the standard output. A reader that has seen enough, as `| head` has, is no
 * failure. Any other error is a failure, for example a full disk, which console.log would not report.
 * @throws Error if the text cannot be written
 */
export function print(text: string): Promise<void> {
  if (!isWatched) process.stdout.on('error', () => {})
  isWatched = true
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error)
      else resolve()
    })
  })
}
