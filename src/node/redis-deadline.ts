import type { EventEmitter } from 'node:events'

/** The properties of a command of ioredis that are used here. */
interface Command {
  /** Whether it has its reply, or has failed. */
  readonly isSettled: boolean
  reject(error: Error): void
}

interface Client extends EventEmitter {
  sendCommand(command: Command, ...more: never[]): unknown
}

/** A command whose deadline has not passed, or that was settled and is not removed yet. */
interface Waiting {
  readonly command: Command
  /** Monotonic milliseconds. */
  readonly due: number
  next: Waiting | null
}

/**
 * Gives each command of a client of ioredis its deadline, in milliseconds.
 *
 * With ioredis's own `commandTimeout` a long turn of our event loop looks like a silent Redis. If a process was held up, as in a throttled
 * container, the timer fires before a reply that has already come is read (ioredis 6.0). So the method by which ioredis sends every
 * command, also its own ones, is replaced.
 *
 * One timer checks the oldest command, and no reply stops it. A timer for each command costs more when commands come singly.
 */
export function giveDeadline(client: Client, ms: number): void {
  const send = client.sendCommand.bind(client)
  const line = createLine()
  let timer: NodeJS.Timeout | null = null

  /** The connection keeps the process alive while a command waits for its reply, so the timer need not. */
  function watch(left: number): void {
    timer = setTimeout(look, Math.max(1, Math.ceil(left))).unref()
  }

  function look(): void {
    const now = performance.now()
    const oldest = line.oldest()
    if (oldest === null) timer = null
    else if (oldest.due > now) watch(oldest.due - now)
    // A reply that has already come is read before the command is given up.
    else setImmediate(giveUp, now)
  }

  function giveUp(now: number): void {
    for (let late = line.oldest(); late !== null && late.due <= now; late = line.oldest()) {
      line.leave()
      late.command.reject(new Error('Command timed out'))
    }
    look()
  }

  client.sendCommand = (command, ...more) => {
    line.join({ command, due: performance.now() + ms, next: null })
    if (timer === null) watch(ms)
    return send(command, ...more)
  }
}

/** Commands in the order in which they were sent, which is that of their replies. */
function createLine() {
  let first: Waiting | null = null
  let last: Waiting | null = null

  function leave(): void {
    first = first?.next ?? null
    if (first === null) last = null
  }

  /** The oldest unsettled command. Settled ones before it are removed. */
  function oldest(): Waiting | null {
    while (first?.command.isSettled) leave()
    return first
  }

  function join(waiting: Waiting): void {
    oldest()
    if (last === null) first = waiting
    else last.next = waiting
    last = waiting
  }

  return { join, leave, oldest }
}
