import { createHash } from 'node:crypto'
import { createStoreClock, type StoreClock } from '../../src/app/store-clock.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { bookWindow } from '../../src/quota/books.ts'
import type { Decision, Limits } from '../../src/quota/charge.ts'
import { keptOf, NO_RETENTION, type Retention } from '../../src/quota/history.ts'
import { createLedger } from '../../src/quota/ledger/ledger.ts'
import type { Ledger } from '../../src/quota/ledger/ledger-contract.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { violations } from '../../src/quota/refusal.ts'
import type { Limit, Window } from '../../src/quota/window.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createUsageRecorder, type UsageRecorder } from '../../src/usage/recorder.ts'
import { refusingLimit, request } from '../observe/request.ts'
import { settled } from '../observe/settled.ts'
import { endsBy, worldTimeOf, ZONES } from './calendars.ts'
import { Network } from './network.ts'
import { type Count, type Gateway, Oracle, type Order } from './oracle.ts'
import { createRandom, type Random } from './random.ts'
import type { ScriptRunner } from './real-redis.ts'
import { type Execution, SimulatedRedis } from './redis.ts'
import { type CounterName, createStored } from './stored.ts'
import { UsageBooks } from './usage-books.ts'
import { dayOf, type Mishap, type Weather, weatherOf } from './weather.ts'
import { createActor, World } from './world.ts'

export interface Outcome {
  readonly seed: number
  /** What happened, line by line. */
  readonly trace: readonly string[]
  /** SHA-256 of the trace. */
  readonly hash: string
  readonly count: Count & UsageBooks['count']
  /** What was wrong; `null` where all was right. */
  readonly failure: Error | null
}

const PREFIX = 'tollgate'
const DEADLINE_MS = 250
/** A charge waits four times the deadline at most; a timer is late by a little. */
const BOUND_MS = 4 * DEADLINE_MS + 5
const USERS = ['alice', 'read:alice', 'Zoë {x}']
/** In worlds that keep histories: of the last user none is kept. */
const KEPT: Retention = {
  longestSeconds: 86_400_000,
  shorterSeconds: 86_400_000,
  anonymousSeconds: 0,
  isAnonymous: (user) => user === USERS.at(-1),
}
/** One has the name of a user. */
const ORGANISATIONS = ['acme', 'alice']
const PLANS = 3
const CATEGORIES = ['read', 'write']
const COUNTERS: readonly CounterName[] = CATEGORIES.flatMap((category) => [
  { scope: 'global' as const, id: '', category },
  ...USERS.map((id) => ({ scope: 'personal' as const, id, category })),
  ...ORGANISATIONS.map((id) => ({ scope: 'organisation' as const, id, category })),
])
/** Runs one world. The same seed gives the same trace. @param isDay whether it lasts a day and not some seconds */
export async function simulate(seed: number, runner: ScriptRunner, isDay = false): Promise<Outcome> {
  await runner.clear()
  const random = createRandom(seed)
  const { epoch, windows } = worldTimeOf(random)
  const world = new World(random, epoch)
  const simulation = new Simulation(world, runner, windows, isDay ? dayOf(random) : weatherOf(random))
  const failure = await simulation.run().then(
    () => null,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  const { trace } = world
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex')
  return { seed, trace, hash, count: { ...simulation.oracle.count, ...simulation.usage.count }, failure }
}

/** A place where a gateway runs; when one ends, another is started there. */
interface Place {
  readonly name: string
  starts: number
  gateway: Running | null
  /** In force there: places hear of changes at different times. */
  setting: Setting
}

/** The limits of each plan. */
type Setting = readonly Limits[]

interface Running extends Gateway {
  readonly ledger: Ledger
  readonly store: Store
  readonly recorder: UsageRecorder
  readonly clock: StoreClock
}

class Simulation {
  readonly oracle: Oracle
  readonly usage: UsageBooks
  readonly #runner: ScriptRunner
  readonly #world: World
  readonly #random: Random
  readonly #network: Network
  readonly #redis: SimulatedRedis
  readonly #weather: Weather
  readonly #places: Place[]
  readonly #settings: readonly Setting[]
  readonly #users: readonly string[]
  /** The plan of each user, by its number. */
  readonly #plans = new Map<string, number>()
  readonly #share: number
  readonly #retention: Retention
  #orders = 0

  constructor(world: World, runner: ScriptRunner, calendars: readonly Window[], weather: Weather) {
    this.#world = world
    this.#runner = runner
    const random = world.random
    this.#random = random
    this.#weather = weather
    this.#users = USERS.slice(0, random.integer(1, USERS.length))
    this.#share = random.pick([0, 0, 0.1, 0.5])
    this.#retention = random.chance(weather.kept) ? KEPT : NO_RETENTION
    const books = bookWindow(calendars[0]?.calendar?.zone ?? random.pick(ZONES))
    const kept = this.#retention === NO_RETENTION ? {} : { books }
    this.#settings = Array.from({ length: random.integer(1, 4) }, () =>
      settingOf(random, calendars, weather).map((limits) => ({ ...limits, ...kept })),
    )
    const stored = createStored(PREFIX, COUNTERS)
    this.oracle = new Oracle({
      world,
      stored,
      counters: COUNTERS,
      boundMs: BOUND_MS,
      share: this.#share,
      longWindow: weather.longWindow,
      compareEvery: weather.compareEvery,
      endOf: endsBy([...calendars, books]),
      keeps: ({ scope, id }) => keptOf(this.#retention, scope, id) !== null,
    })
    const names = createKeys(PREFIX)
    this.usage = new UsageBooks(world, names.flush)
    const isFlush = ([key = '']: readonly string[]): boolean => key.startsWith(names.flush(''))
    const executed = (execution: Execution): void => {
      const { keys, args, at, reply } = execution
      if (isFlush(keys)) this.usage.executed(keys, Number(args[0]), at, reply[0] === '-'.charCodeAt(0))
      else this.oracle.executed(execution)
    }
    const read = (keys: readonly string[]): readonly string[] => (isFlush(keys) ? [] : stored.keys)
    const leap = (now: number): number => this.#leap(now)
    this.#network = new Network(world, (network) => new SimulatedRedis({ network, runner, read, executed, leap }))
    this.#redis = this.#network.server as SimulatedRedis
    this.#network.latencyMs = random.pick(this.#weather.isCalm ? [0.2, 1, 20] : [0.2, 1, 20, 100])
    this.#places = Array.from({ length: weather.gateways }, (_, i) => ({
      name: `g${i + 1}`,
      starts: 0,
      gateway: null,
      setting: random.pick(this.#settings),
    }))
  }

  async run(): Promise<void> {
    const release = this.#network.takeOver()
    try {
      for (const place of this.#places) this.#start(place)
      await this.#world.runUntil(this.#world.now + 500)
      await this.#roughTime()
      await this.#settle()
      this.oracle.settled(this.#weather.isCalm)
      const told = (category: string): number => this.oracle.told(category)
      this.usage.settled(this.#weather.isCalm, await this.#runner.hashes(), CATEGORIES, told)
      this.#world.check()
    } finally {
      release()
    }
  }

  /** Chance would hardly ever find the very millisecond at which a window ends. */
  #leap(now: number): number {
    const wait = this.oracle.nextEnd(now) - now
    if (wait > 10_000 || !this.#random.chance(0.05)) return 0
    return Math.max(0, wait + this.#random.pick([-1, 0, 0, 1]))
  }

  async #roughTime(): Promise<void> {
    const end = this.#world.now + this.#weather.lastsMs
    this.#network.fates = this.#weather.fates
    for (const place of this.#places) this.#again(this.#weather.chargeEveryMs, end, () => this.#chargeAt(place))
    this.#again(this.#weather.mishapEveryMs, end, () => this.#mishap())
    await this.#world.runUntil(end)
  }

  /** Something that happens again and again until a moment, at no regular distance. */
  #again(everyMs: number, end: number, run: () => unknown): void {
    const world = this.#world
    const wait = -Math.log(1 - this.#random.next()) * everyMs
    if (world.now + wait >= end) return
    world.after(
      wait,
      async () => {
        this.#again(everyMs, end, run)
        await run()
      },
      world.nobody,
    )
  }

  /** The network heals, and whoever ended is started again. At the end every place must be served. */
  async #settle(): Promise<void> {
    this.#world.tell('everything heals')
    this.#network.heal()
    this.#redis.start()
    this.#redis.refusal = ''
    this.#world.after(0, () => this.#redis.goOn(), this.#world.nobody)
    await this.#world.runUntil(this.#world.now + 8000)
    // Who was idle notices by the first charge that his connection is dead.
    for (const place of this.#places) this.#probe(place, this.#weather.isCalm)
    await this.#world.runUntil(this.#world.now + 4000)
    for (const place of this.#places) this.#probe(place, true)
    await this.#world.runUntil(this.#world.now + 3000)
    for (const { gateway } of this.#places) {
      if (gateway !== null) this.#world.after(0, () => void gateway.recorder.close(1000), gateway.actor)
    }
    await this.#world.runUntil(this.#world.now + 1000)
  }

  #probe(place: Place, mustBeDecided: boolean): void {
    const { gateway } = place
    if (gateway === null) throw new Error(`no gateway runs at ${place.name}`)
    this.#world.after(0, () => this.#charge(place, gateway, mustBeDecided), gateway.actor)
  }

  #start(place: Place): void {
    const actor = createActor(`${place.name}.${++place.starts}`)
    const instance = `${actor.name}-${this.#random.integer(0, 0xffff).toString(16).padStart(4, '0')}`
    // In a calm world nobody may wait so long for others that he is given up.
    const maxBatch = this.#random.pick(this.#weather.isCalm ? [8, 256] : [2, 8, 256])
    const gateway: Gateway = { actor, instance, ended: 'not', stalledMs: 0 }
    const start = (): void => {
      this.#world.tell(`${instance} starts`)
      const observe = (seen: Observation): void => this.#observed(gateway, seen)
      const store = openRedisStore({
        url: 'redis://simulated:6379',
        prefix: PREFIX,
        deadlineMs: DEADLINE_MS,
        observe,
        retention: () => this.#retention,
      })
      const settle = this.#watched(store)
      const ledger = createLedger({
        // A repeated refusal is true as of a moment ago; here each is held against what the store says now.
        repeatRefusalsMs: 0,
        store: { settle },
        instance,
        deadlineMs: DEADLINE_MS,
        observe,
        maxBatch,
        outageShare: () => this.#share,
      })
      const addUsage: Store['addUsage'] = (flush) => {
        this.usage.sends(flush)
        return store.addUsage(flush)
      }
      const recorder = createUsageRecorder({ store: { addUsage }, instance, observe })
      const clock = createStoreClock({ store, observe: recorder.observer })
      clock.start()
      this.usage.starts(gateway)
      place.gateway = Object.assign(gateway, { ledger, store, recorder, clock })
    }
    this.#world.after(0, start, actor)
  }

  /** The store's `settle`, and the oracle sees what it is asked and says. */
  #watched(store: Store): Store['settle'] {
    return async (batch) => {
      this.oracle.sends(batch)
      try {
        return await store.settle(batch)
      } catch (error) {
        this.oracle.notSettled(batch, error instanceof StoreError ? error.applied : 'unknown')
        throw error
      }
    }
  }

  #observed({ instance, ended }: Gateway, seen: Observation): void {
    if (seen.type === 'batch_settled' || seen.type === 'outage_charge') return
    const { type, ...rest } = seen
    this.#world.tell(`${instance} observes ${type} ${JSON.stringify(rest)}`)
    if (type === 'outcome_unknown' && !seen.settled && ended === 'not') this.#world.fail('a batch was given up')
    if (type === 'store_out' && this.#weather.isCalm) this.#world.fail('the store was given up without need')
  }

  #chargeAt(place: Place): void {
    const { gateway } = place
    if (gateway === null) return
    for (let n = this.#random.pick([1, 1, 1, 2, 6]); n > 0; n--) {
      this.#world.after(0, () => this.#charge(place, gateway, this.#weather.isCalm), gateway.actor)
    }
  }

  #charge(place: Place, gateway: Running, mustBeDecided: boolean): void {
    const { oracle } = this
    const random = this.#random
    const id = ++this.#orders
    const user = random.pick(this.#users)
    const asked: Order = {
      id,
      user,
      organisation: random.pick([null, ...ORGANISATIONS]),
      category: random.pick(CATEGORIES),
      cost: random.integer(1, 4),
      limits: this.#limitsOf(user, place),
    }
    const order = random.chance(this.#weather.keyed) ? keyed(asked, random) : asked
    this.#world.tell(`${gateway.instance} charges ${order.cost} to ${order.user}/${order.category}: ${id}`)
    oracle.asks(order, gateway)
    gateway.ledger.charge(order).then(
      (decision) => {
        const alone = decision.limits === undefined ? '' : ' without the store'
        this.#world.tell(`charge ${id} is ${decision.accepted ? 'accepted' : 'refused'}${alone}`)
        oracle.decided(id, decision)
        if (mustBeDecided && alone !== '') this.#world.fail(`charge ${id} was decided without the store`)
        const of = this.#observes(gateway, order, decision)
        if (!decision.accepted || !random.chance(0.4)) return
        // The request never reached the upstream, or its response says another cost.
        const amount = random.chance(0.5) ? order.cost : order.cost - random.integer(0, 8)
        this.#world.after(random.between(0, 400), () => {
          if (gateway.ended !== 'not' || amount === 0) return
          this.#world.tell(`${gateway.instance} gives ${amount} of charge ${id} back`)
          oracle.givesBack(id, amount)
          gateway.ledger.refund({ charge: order, decision, amount })
          of.givenBack(amount)
        })
      },
      (error: Error) => {
        this.#world.tell(`charge ${id} fails: ${error.message}`)
        oracle.failed(id)
        if (mustBeDecided && gateway.ended === 'not') this.#world.fail(`charge ${id} failed without need`)
      },
    )
  }

  /** What the steps of a request would: it was charged or not, and it ended. */
  #observes(gateway: Running, order: Order, decision: Decision): { givenBack(amount: number): void } {
    const { category, cost, user } = order
    const of = { category, plan: `p${this.#plans.get(user) ?? 0}`, route: `POST /${category}`, at: decision.at }
    const see = (seen: Observation): void => {
      this.usage.observes(gateway, seen)
      gateway.recorder.observer(seen)
    }
    const { once } = decision
    const [worst] = violations(order, decision)
    const isRefused = !decision.accepted && once?.kind !== 'reused'
    if (isRefused && worst === undefined) this.#world.fail(`charge ${order.id} was refused by no window`)
    const refusedBy =
      !isRefused || worst === undefined
        ? null
        : refusingLimit({ ...worst, window: worst.limit.window.name, limit: worst.limit.limit, resetAt: '', at: of.at })
    const isCharged = decision.accepted && once?.kind !== 'replayed'
    const outcome = settled({ ...of, user, cost })
    if (isCharged) see(outcome)
    if (refusedBy !== null) see({ ...outcome, kind: 'refused', tokens: 0, refusedBy })
    see(request({ ...of, planLabel: of.plan, user, cost, refusedBy, httpStatus: decision.accepted ? 200 : null }))
    return {
      givenBack: (amount) => {
        if (isCharged) see({ ...outcome, kind: 'corrected', tokens: -amount })
      },
    }
  }

  #limitsOf(user: string, { setting }: Place): Limits {
    return setting[this.#plans.get(user) ?? 0] as Limits
  }

  async #mishap(): Promise<void> {
    const random = this.#random
    const place = random.pick(this.#places)
    const kind = random.weighted(this.#weather.mishaps as Record<Mishap, number>)
    const { gateway } = place
    const network = this.#network
    const redis = this.#redis
    const later = (ms: number, run: () => unknown): void => {
      this.#world.after(ms, run, this.#world.nobody)
    }
    this.#world.tell(`* ${kind} (${place.name})`)
    switch (kind) {
      case 'limits':
        place.setting = random.pick(this.#settings)
        return
      case 'plan':
        this.oracle.count.plans++
        this.#plans.set(random.pick(this.#users), random.integer(0, PLANS - 1))
        return
      case 'clock of redis':
        redis.clockOffsetMs += random.pick(this.#weather.clockStepsMs)
        return
      case 'flush scripts':
        redis.flushScripts()
        return
      case 'pause redis':
        redis.pause()
        later(random.between(20, 2500), () => redis.goOn())
        return
      case 'restart redis':
        redis.stop()
        later(random.between(20, 2500), () => redis.start())
        return
      case 'refuse writes':
        redis.refusal = random.pick(['READONLY no', 'OOM no'])
        later(random.between(20, 2000), () => {
          redis.refusal = ''
        })
        return
    }
    if (gateway === null) return
    const { actor } = gateway
    switch (kind) {
      case 'reset':
        for (const connection of network.of(actor)) connection.reset()
        return
      case 'swallow':
        for (const connection of network.of(actor)) connection.swallows = true
        return
      case 'cut off':
        network.cut(actor)
        later(random.between(50, 3000), () => network.cutOff.delete(actor))
        return
      case 'clock of a gateway':
        // By more than half an hour the machine counts as one that slept: what is open then is given up.
        actor.clockOffsetMs += random.pick([-3_600_000, -1000, 1000, 1_500_000])
        return
      case 'stall': {
        const ms = random.between(5, 1500)
        actor.stalledUntil = Math.max(actor.stalledUntil, this.#world.now + ms)
        gateway.stalledMs += ms
        return
      }
      case 'crash':
        gateway.ended = 'crashed'
        actor.alive = false
        for (const connection of network.of(actor)) connection.closed()
        this.#startAgain(place)
        return
      case 'close':
        gateway.ended = 'closed'
        this.#world.after(0, () => this.#close(gateway), actor)
        this.#startAgain(place)
    }
  }

  #close({ ledger, store, recorder, clock, actor }: Running): void {
    clock.stop()
    void ledger.close(1000).then(async () => {
      await recorder.close(1000)
      await store.close()
      this.#world.after(5000, () => {
        actor.alive = false
      })
    })
  }

  #startAgain(place: Place): void {
    place.gateway = null
    this.#world.after(this.#random.between(0, 1000), () => this.#start(place), this.#world.nobody)
  }
}

/** A request that may come again. Under other windows it is another one, as to the gateway. */
function keyed(order: Order, random: Random): Order {
  const { user, category, cost, limits } = order
  const windows = [limits.personal, limits.organisation, limits.global].map((list) =>
    list?.map(({ window }) => window.seconds),
  )
  const key = JSON.stringify([random.integer(1, 2), user, order.organisation, category, cost, windows])
  const [forMs, replays] = [random.pick([500, 5000, 60_000]), random.integer(1, 3)]
  return { ...order, once: { key, body: random.pick(['one body', 'one body', 'another']), forMs, replays } }
}

/**
 * Windows that end while the simulation runs, and mostly one that does not; seldom that alone, which is stored in hours.
 * @param calendars those of the world
 */
function windowsOf(random: Random, calendars: readonly Window[], { windows, longWindow }: Weather): Window[] {
  const lengths = new Set(Array.from({ length: random.integer(1, 3) }, () => random.pick(windows)))
  if (random.chance(0.15)) lengths.clear()
  if (lengths.size === 0 || random.chance(0.8)) lengths.add(longWindow)
  const fixed = [...lengths].map((seconds) => ({ name: `${seconds}s`, seconds }))
  return [...fixed, ...calendars.filter(() => random.chance(0.8))].sort((a, b) => a.seconds - b.seconds)
}

/** Small limits, so that charges are refused. A plan has limits of its own for a user, and all plans those of everybody. */
function settingOf(random: Random, calendars: readonly Window[], weather: Weather): Setting {
  const windows = windowsOf(random, calendars, weather)
  const generosity = random.pick([1, 5, 20])
  const { limitSeconds } = weather
  const times = ({ seconds }: Window): number => (limitSeconds === 0 ? 1 : Math.ceil(seconds / limitSeconds))
  const list = (most: number): Limit[] =>
    windows.map((window) => ({ window, limit: times(window) * random.integer(4, most * generosity) }))
  const organisation = random.chance(0.5) ? list(30) : null
  const global = random.chance(0.8) ? list(40) : null
  return Array.from({ length: PLANS }, () => ({ personal: list(20), organisation, global }))
}
