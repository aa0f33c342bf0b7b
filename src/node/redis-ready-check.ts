type Answered = (error?: Error | null, info?: string) => void

interface Client {
  info(...asked: [Answered?, ...never[]]): Promise<string>
}

/** What Redis replied to INFO, as ioredis is to see it. */
export type Judge = (error: Error | null, info: string | undefined) => { error: Error | null; info: string | undefined }

/**
 * Judges what ioredis asks by INFO before it uses a connection.
 *
 * ioredis has its own answer to an error and to a Redis that is loading: it prints the first past the log, and waits for the second without
 * a word (6.0, `built/Redis.js`, `_readyCheck`). The check can be switched off, and not replaced. It asks by the client's own `info` with a
 * callback, so that method is replaced. A cluster makes clients that listen out of our reach: those are as ioredis has them.
 */
export function judgeReadyCheck(client: Client, judge: Judge): void {
  const ask = client.info.bind(client)
  client.info = (...asked) => {
    const [answered] = asked
    // Whoever asks for a section, or waits by a promise.
    if (typeof answered !== 'function') return ask(...asked)
    return ask((error = null, info) => {
      const judged = judge(error, info)
      answered(judged.error, judged.info)
    })
  }
}
