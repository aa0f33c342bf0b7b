import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'

interface Client extends EventEmitter {
  sendCommand(command: never, ...more: never[]): unknown
}

/** Properties of ioredis that are used here and not in its types. */
interface Inside {
  /** The present connection. */
  readonly stream: Duplex
  /** Commands that were sent and have no reply yet. */
  readonly commandQueue: { readonly length: number }
}

/**
 * Ends a connection of a client of ioredis on which a command waits for its reply and nothing comes for `ms` milliseconds.
 *
 * ioredis's own `socketTimeout` (6.0) sets and clears a timer, adds a listener and resumes the stream for each command. Here one timer
 * checks whether anything has come since, and each connection has one listener. A byte that has already come is read first.
 */
export function giveUpSilent(client: Client, ms: number): void {
  const inside = client as unknown as Inside
  const send = client.sendCommand.bind(client)
  let timer: NodeJS.Timeout | null = null
  /** When a byte came last, or the only waiting command was sent; monotonic milliseconds. `null`: no command waits. */
  let since: number | null = null

  function asked(): void {
    since ??= performance.now()
    if (timer === null) watch(ms)
  }

  /** The connection keeps the process alive, so the timer need not. */
  function watch(left: number): void {
    timer = setTimeout(look, Math.max(1, Math.ceil(left))).unref()
  }

  function look(): void {
    timer = null
    if (inside.commandQueue.length === 0) since = null
    if (since === null) return
    const left = since + ms - performance.now()
    if (left > 0) watch(left)
    else setImmediate(giveUp, since)
  }

  function giveUp(before: number): void {
    if (since !== before || inside.commandQueue.length === 0) {
      if (timer === null) look()
      return
    }
    since = null
    const text = `Socket timeout. Expecting data, but didn't receive any in ${ms}ms.`
    inside.stream.destroy(new Error(text))
  }

  function heard(): void {
    if (since !== null) since = inside.commandQueue.length === 0 ? null : performance.now()
  }

  client.on('connect', () => {
    since = null
    if (inside.commandQueue.length > 0) asked()
    // This runs after the listener of ioredis, which removes replied commands from the queue.
    inside.stream.on('data', heard)
  })
  client.sendCommand = (command, ...more) => {
    const sent = send(command, ...more)
    // A command that was refused at once, or waits for the connection, was not sent.
    if (inside.commandQueue.length > 0) asked()
    return sent
  }
}
