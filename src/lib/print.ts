let isWatched = false

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
