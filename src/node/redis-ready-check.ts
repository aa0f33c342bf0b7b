type Answered = (error?: Error | null, info?: string) => void

interface Client {
  info(...asked: [Answered?, ...never[]]): Promise<string>
}

/** Judges the reply of Redis to INFO, for ioredis. */
export type Judge = (error: Error | null, info: string | undefined) => { error: Error | null; info: string | undefined }

/**
 * Judges the reply to the INFO that ioredis sends before it uses a connection.
 *
 * ioredis prints an error outside the log, and waits silently for a Redis that is loading (6.0, `built/Redis.js`, `_readyCheck`). The check
 * can be switched off, but not replaced. It calls the client's own `info` with a callback, so that method is replaced. A cluster makes
 * listening clients out of our reach: those keep the check of ioredis.
 */
export function judgeReadyCheck(client: Client, judge: Judge): void {
  const ask = client.info.bind(client)
  client.info = (...asked) => {
    const [answered] = asked
    // This caller asks for a section, or waits by a promise.
    if (typeof answered !== 'function') return ask(...asked)
    return ask((error = null, info) => {
      const judged = judge(error, info)
      answered(judged.error, judged.info)
    })
  }
}
