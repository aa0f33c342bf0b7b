/** What is asked of a command of ioredis. */
interface Command {
  readonly promise: Promise<unknown>
  reject(error: Error): void
}

interface Client {
  sendCommand(command: Command, ...more: never[]): unknown
}

/**
 * Gives each command of a client of ioredis its deadline, in milliseconds.
 *
 * With ioredis's own `commandTimeout` a turn of our event loop that takes long passes for a silence of Redis. If a process was held up, as
 * in a container that is throttled, its timer comes before the reply that is there already is read (ioredis 6.0). So the method that
 * ioredis sends every command by, its own ones too, is replaced.
 */
export function giveDeadline(client: Client, ms: number): void {
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, ...more) => {
    const timer = giveUpAfter(ms, command)
    const clear = (): void => clearTimeout(timer)
    command.promise.then(clear, clear)
    return send(command, ...more)
  }
}

/** A reply that is there already is read before the command is given up. */
function giveUpAfter(ms: number, command: Command): NodeJS.Timeout {
  const giveUp = (): void => command.reject(new Error('Command timed out'))
  return setTimeout(() => setImmediate(giveUp), ms)
}
