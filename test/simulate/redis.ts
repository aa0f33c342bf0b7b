import { createHash } from 'node:crypto'
import type { Connection, Network, Server } from './network.ts'
import type { ScriptRunner } from './real-redis.ts'
import { decodeCommands, decodeStrings, encodeCommand } from './resp.ts'
import { createActor } from './world.ts'

/** One run of a script, as it was seen from outside. */
export interface Execution {
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly at: number
  readonly reply: Buffer
  /** The values of the keys that were asked for, before it. */
  readonly before: readonly (Buffer | null)[]
  /** The same after it. */
  readonly values: readonly (Buffer | null)[]
  /** Redis refused to write at that moment. */
  readonly refuses: boolean
}

export interface RedisOptions {
  readonly network: Network
  readonly runner: ScriptRunner
  /** The keys to read before and after a script that is given these. */
  readonly read: (scriptKeys: readonly string[]) => readonly string[]
  readonly executed: (execution: Execution) => void
  /** By how many milliseconds the clock leaps before a script runs. */
  readonly leap: (now: number) => number
}

const HELLO = '%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:3\r\n'
const INFO = 'redis_version:7.4.0\r\nloading:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n'

/** A Redis with a clock of its own. Its scripts are run by a real one. */
export class SimulatedRedis implements Server {
  readonly actor = createActor('redis')
  accepts = true
  failovers = 0
  /** Added to the time of the world, in milliseconds. */
  clockOffsetMs = 0
  /** What every write fails with; empty where it does not. */
  refusal = ''
  readonly #options: RedisOptions
  #paused = false
  readonly #waiting: [Connection, Buffer][] = []
  readonly #scripts = new Map<string, string>()
  /** Connections to a process that has ended. */
  readonly #dead = new WeakSet<Connection>()

  constructor(options: RedisOptions) {
    this.#options = options
  }

  get now(): number {
    return Math.floor(this.#timeUs / 1000)
  }

  get #timeUs(): number {
    const { epoch, now } = this.#options.network.world
    return Math.floor((epoch + now + this.clockOffsetMs) * 1000)
  }

  async receive(connection: Connection, bytes: Buffer): Promise<void> {
    if (this.#dead.has(connection)) return
    if (this.#paused) {
      this.#waiting.push([connection, bytes])
      return
    }
    for (const words of decodeCommands(bytes)) connection.reply(await this.#response(words))
  }

  pause(): void {
    this.#paused = true
  }

  async goOn(): Promise<void> {
    this.#paused = false
    for (const [connection, bytes] of this.#waiting.splice(0)) await this.receive(connection, bytes)
  }

  /** The process ends. Its data are kept. */
  stop(): void {
    this.accepts = false
    this.#paused = false
    this.#waiting.length = 0
    this.flushScripts()
    for (const connection of this.#options.network.connections) {
      this.#dead.add(connection)
      connection.reset()
    }
  }

  start(): void {
    this.accepts = true
  }

  /** From now on a replica lacks what is written. */
  replicate(): Promise<void> {
    return this.#options.runner.replicate()
  }

  /** The process ends, and the replica will be started in its place. */
  async failOver(): Promise<void> {
    this.stop()
    this.failovers++
    await this.#options.runner.failOver()
  }

  flushScripts(): void {
    this.#scripts.clear()
  }

  async #response([name = Buffer.alloc(0), ...args]: Buffer[]): Promise<Buffer> {
    switch (name.toString().toUpperCase()) {
      case 'HELLO':
        return Buffer.from(HELLO)
      case 'CLIENT':
        return Buffer.from('+OK\r\n')
      case 'INFO':
        return Buffer.from(`$${INFO.length}\r\n${INFO}\r\n`)
      // Whether a copy into the store has not ended: there was none.
      case 'GET':
        return Buffer.from('$-1\r\n')
      case 'TIME': {
        const [seconds, micros] = [Math.floor(this.now / 1000), (this.now % 1000) * 1000].map(String)
        return encodeCommand([seconds ?? '', micros ?? ''])
      }
      // No change was ever made.
      case 'ZRANGE':
        return Buffer.from('*0\r\n')
      case 'MGET':
      case 'HGETALL':
      // What is noted of how long runs are kept.
      case 'HSET':
      case 'HDEL':
        return this.#options.runner.look([name, ...args], this.#timeUs)
      case 'PING':
        return Buffer.from('+PONG\r\n')
      case 'EVAL':
        return this.#run(this.#remember(String(args[0])), args)
      case 'EVALSHA': {
        const lua = this.#scripts.get(String(args[0]))
        return lua === undefined ? Buffer.from('-NOSCRIPT No matching script.\r\n') : this.#run(lua, args)
      }
      default:
        throw new Error(`the simulation does not know ${name}`)
    }
  }

  #remember(lua: string): string {
    this.#scripts.set(createHash('sha1').update(lua).digest('hex'), lua)
    return lua
  }

  async #run(lua: string, [, count, ...rest]: Buffer[]): Promise<Buffer> {
    const { runner, read, executed, leap } = this.#options
    const keys = rest.slice(0, Number(count))
    const args = rest.slice(Number(count))
    this.clockOffsetMs += leap(this.now)
    const timeUs = this.#timeUs
    const names = keys.map(String)
    const script = { lua, keys, args, timeUs, refusal: this.refusal, read: read(names) }
    const { reply, before, values } = await runner.run(script)
    executed({
      keys: names,
      args: args.map(String),
      at: Math.floor(timeUs / 1000),
      reply,
      before: decodeStrings(before),
      values: decodeStrings(values),
      refuses: this.refusal !== '',
    })
    return reply
  }
}
