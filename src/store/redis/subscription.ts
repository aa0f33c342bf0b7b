import type { RedisClient } from './client.ts'

/** After how many milliseconds a subscription that failed on a good connection is tried again. */
const AGAIN_MS = 1000

/** Listens to one channel on a connection of its own, because a connection that subscribes takes no other commands. */
export interface Subscription {
  /**
   * Calls the listener with each message, and with `null` after a time without a connection, in which messages may be lost.
   * @returns a function that stops the calls
   */
  follow(listener: (message: string | null) => void): () => void
  close(): void
}

/** @param connect makes the connection. It is called when the first listener comes */
export function subscription(connect: () => RedisClient, channel: string): Subscription {
  const listeners = new Set<(message: string | null) => void>()
  let redis: RedisClient | undefined
  let again: NodeJS.Timeout | undefined

  function reportAll(message: string | null): void {
    for (const listener of listeners) listener(message)
  }

  function open(): RedisClient {
    const opened = connect()
    opened.on('error', () => {}) // The connection for commands reports the error, and ioredis would print it.
    opened.on('message', (_channel: string, message: string) => reportAll(message))
    opened.on('ready', () => void subscribe(opened))
    opened.connect().catch(() => {}) // ioredis goes on trying.
    return opened
  }

  async function subscribe(to: RedisClient): Promise<void> {
    clearTimeout(again)
    try {
      await to.subscribe(channel)
      reportAll(null)
    } catch {
      if (redis === to) again = setTimeout(() => void subscribe(to), AGAIN_MS)
    }
  }

  return {
    follow(listener) {
      listeners.add(listener)
      redis ??= open()
      return () => void listeners.delete(listener)
    },
    close() {
      clearTimeout(again)
      redis?.disconnect()
      redis = undefined
    },
  }
}
