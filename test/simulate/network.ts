import net from 'node:net'
import { Duplex } from 'node:stream'
import type { Actor, World } from './world.ts'

/** What becomes of a message. Whatever is lost takes its connection with it, as TCP loses nothing in the middle. */
export interface Fates {
  readonly arrives: number
  /** It comes later than any deadline, and what follows on its connection waits behind it. */
  readonly late: number
  readonly lost: number
  /** It arrives, and the connection is reset at once. */
  readonly reset: number
  /** It arrives twice, the second time later, as from a proxy that had no answer and tries again. The first reply goes nowhere. */
  readonly repeated: number
  /** From now on nothing passes on this connection, and nobody is told. */
  readonly swallowed: number
}

export const ALL_ARRIVES: Fates = { arrives: 1, late: 0, lost: 0, reset: 0, repeated: 0, swallowed: 0 }

/** The other end of the network. */
export interface Server {
  readonly actor: Actor
  readonly accepts: boolean
  /** How many times another one has taken its place: what was sent to one never reaches the next. */
  readonly failovers: number
  receive(connection: Connection, bytes: Buffer): unknown
}

/** A connection between a gateway and Redis. Each direction keeps its order. */
export class Connection {
  readonly name: string
  readonly client: Actor
  readonly socket: SimulatedSocket
  readonly #network: Network
  /** Of the server, when it was made. */
  readonly #failovers: number
  /** The server has not closed it. */
  open = false
  swallows = false
  #lastRequest = 0
  #lastReply = 0

  constructor(name: string, client: Actor, network: Network) {
    this.name = name
    this.client = client
    this.#network = network
    this.#failovers = network.server.failovers
    this.socket = new SimulatedSocket(this, network.world)
  }

  request(bytes: Buffer): void {
    const { world, server } = this.#network
    const fate = this.#fate('request')
    if (fate === 'lost' || this.swallows) return
    if (fate === 'repeated') {
      const first = new Connection(`${this.name}'`, this.client, this.#network)
      world.after(this.#network.delay('arrives'), () => first.#arrive(bytes), server.actor)
    }
    this.#lastRequest = Math.max(this.#lastRequest, world.now + this.#network.delay(fate))
    world.after(this.#lastRequest - world.now, () => this.#arrive(bytes), server.actor)
  }

  #arrive(bytes: Buffer): unknown {
    const { server } = this.#network
    return server.failovers === this.#failovers ? server.receive(this, bytes) : undefined
  }

  reply(bytes: Buffer): void {
    if (this.swallows || !this.open) return
    const { world } = this.#network
    const fate = this.#fate('reply')
    if (fate === 'lost' || fate === 'reset' || this.swallows) return
    this.#lastReply = Math.max(this.#lastReply, world.now + this.#network.delay(fate))
    world.after(this.#lastReply - world.now, () => this.socket.deliver(bytes), this.client)
  }

  #fate(what: 'request' | 'reply'): keyof Fates {
    const { world, fates } = this.#network
    const possible = what === 'reply' ? { ...fates, repeated: 0 } : fates
    const fate = this.swallows ? 'arrives' : world.random.weighted(possible)
    if (fate !== 'arrives') world.tell(`${this.name}: a ${what} is ${fate}`)
    if (fate === 'lost' || fate === 'reset') this.reset()
    if (fate === 'swallowed') this.swallows = true
    return fate
  }

  /** Both ends learn that the connection is gone, each after a while. */
  reset(): void {
    const { world } = this.#network
    this.open = false
    if (!this.swallows) world.after(this.#network.delay('arrives'), () => this.socket.break('ECONNRESET'), this.client)
  }

  /** The client closed it; what it sent before still arrives. */
  closed(): void {
    this.#network.connections.delete(this)
  }
}

export class Network {
  readonly world: World
  readonly server: Server
  readonly connections = new Set<Connection>()
  fates: Fates = ALL_ARRIVES
  /** Longest delay of an ordinary message, in milliseconds. */
  latencyMs = 1
  /** Gateways that are cut off: what they send and would receive vanishes. */
  readonly cutOff = new Set<Actor>()
  #made = 0

  constructor(world: World, server: (network: Network) => Server) {
    this.world = world
    this.server = server(this)
  }

  /** Until the function that it returns is called, every connection of this process goes through this network. */
  takeOver(): () => void {
    const original = net.createConnection
    net.createConnection = (() => this.connect(this.world.actor)) as unknown as typeof net.createConnection
    return () => {
      net.createConnection = original
    }
  }

  connect(client: Actor): net.Socket {
    const connection = new Connection(`${client.name}.${++this.#made}`, client, this)
    this.connections.add(connection)
    this.world.after(this.delay('arrives'), () => this.#establish(connection), client)
    return connection.socket as unknown as net.Socket
  }

  #establish(connection: Connection): void {
    if (this.cutOff.has(connection.client)) connection.swallows = true
    else if (this.server.accepts) {
      connection.open = true
      connection.socket.established()
    } else connection.socket.break('ECONNREFUSED')
  }

  delay(fate: keyof Fates): number {
    const { random } = this.world
    return fate === 'late' || fate === 'repeated' ? random.between(100, 3000) : random.between(0.05, this.latencyMs)
  }

  of(client: Actor): Connection[] {
    return [...this.connections].filter((connection) => connection.client === client)
  }

  cut(client: Actor): void {
    this.cutOff.add(client)
    for (const connection of this.of(client)) connection.swallows = true
  }

  /** Everything passes from now on. What was lost stays lost, and who waits on a dead connection must find out himself. */
  heal(): void {
    this.fates = ALL_ARRIVES
    this.cutOff.clear()
  }
}

/** Stands for a net.Socket, as far as ioredis uses it. */
class SimulatedSocket extends Duplex {
  readonly #connection: Connection
  readonly #world: World
  connecting = true
  #idle: NodeJS.Timeout | undefined

  constructor(connection: Connection, world: World) {
    super({ decodeStrings: true })
    this.#connection = connection
    this.#world = world
  }

  established(): void {
    if (this.destroyed) return
    this.connecting = false
    this.emit('connect')
  }

  deliver(bytes: Buffer): void {
    if (!this.destroyed && !this.#connection.swallows) this.push(bytes)
  }

  break(code: string): void {
    this.destroy(Object.assign(new Error(code), { code, syscall: this.connecting ? 'connect' : 'read' }))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#connection.request(chunk)
    done()
  }

  /** The server answers the end with its own. */
  override _final(done: () => void): void {
    const { swallows, client } = this.#connection
    if (!swallows) this.#world.after(1, () => this.destroy(), client)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idle)
    this.#connection.closed()
    done(error)
  }

  setTimeout(ms: number, expired?: () => void): this {
    clearTimeout(this.#idle)
    if (ms > 0) this.#idle = setTimeout(() => this.emit('timeout'), ms)
    if (expired !== undefined) this.once('timeout', expired)
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }
}
