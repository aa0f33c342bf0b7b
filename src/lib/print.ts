let isWatched = false

/**
 * Has the process end with 1 and a line on the standard error if something could not be written to the standard output: console.log
 * keeps that to itself. A reader who has seen enough, as `| head` has, is no failure.
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
 * Writes to the standard output what somebody asked for. A reader who has seen enough, as `| head` has, is no failure; all
 * else is, such as a full disk: console.log would keep it to itself.
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
