import { createHash } from 'node:crypto'
import { type CountedNotes, createCountedNotes } from '../../src/app/counted-notes.ts'
import { createStoreClock, type StoreClock } from '../../src/app/store-clock.ts'
import { isDenial } from '../../src/errors.ts'
import {
  type Charging,
  correct,
  giveBack,
  isPaid,
  type Paid,
  type Order as SettlementOrder,
  settle,
} from '../../src/gateway/settlement.ts'
import type { Route, Rules } from '../../src/gateway/snapshot.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { NOTHING_AHEAD } from '../../src/quota/ahead.ts'
import { bookWindow, countedName } from '../../src/quota/books.ts'
import type { Calendar } from '../../src/quota/calendar.ts'
import { type Charge, type Decision, type Limits, metersOf } from '../../src/quota/charge.ts'
import { keptOf, NO_RETENTION, type Retention } from '../../src/quota/history.ts'
import { createLedger } from '../../src/quota/ledger/ledger.ts'
import type { Ledger } from '../../src/quota/ledger/ledger-contract.ts'
import type { Once } from '../../src/quota/once.ts'
import type { Policy } from '../../src/quota/policy.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import type { Limit, Window } from '../../src/quota/window.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createUsageRecorder, type UsageRecorder } from '../../src/usage/recorder.ts'
import { request } from '../observe/request.ts'
import { endsBy, worldTimeOf, ZONES } from './calendars.ts'
import { accountsOf, WorldGrants } from './grants.ts'
import { Invoices } from './invoices.ts'
import { Network } from './network.ts'
import { type Count, type Gateway, Oracle } from './oracle.ts'
import { WorldDays } from './period-days.ts'
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
  readonly count: Count & UsageBooks['count'] & Invoices['count']
  /** What was wrong; `null` where all was right. */
  readonly failure: Error | null
}

const PREFIX = 'tollgate'
const DEADLINE_MS = 250
/** A charge waits four times the deadline and a round trip of three more at most; a timer is late by a little. */
const BOUND_MS = 7 * DEADLINE_MS + 5
/** More than clocks are set back together. */
const LONG_BEFORE_MS = 300 * 86_400_000
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
const OWNERS = { users: USERS, organisations: ORGANISATIONS, categories: CATEGORIES }
const COUNTERS: readonly CounterName[] = [
  ...CATEGORIES.flatMap((category) => [
    { scope: 'global' as const, id: '', category },
    ...USERS.map((id) => ({ scope: 'personal' as const, id, category })),
    ...ORGANISATIONS.map((id) => ({ scope: 'organisation' as const, id, category })),
  ]),
  ...accountsOf(OWNERS),
]
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
  return { seed, trace, hash, count: simulation.count(), failure }
}

/** A place where a gateway runs; when one ends, another is started there. */
interface Place {
  readonly name: string
  starts: number
  gateway: Running | null
  /** In force there: places hear of changes at different times. */
  setting: Setting
}

/** The limits of each plan: of users of an organisation, and of others. */
type Setting = readonly { readonly member: Limits; readonly alone: Limits }[]

interface Running extends Gateway {
  readonly ledger: Ledger
  readonly store: Store
  readonly recorder: UsageRecorder
  readonly clock: StoreClock
  readonly notes: CountedNotes
  /** By how much its clock was set forward in all, in milliseconds. */
  forwardMs: number
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
  /** `null` in worlds without any. */
  readonly #grants: WorldGrants | null
  /** `null` in worlds without months. */
  readonly #periodDays: WorldDays | null
  /** The plan of each user, by its number. */
  readonly #plans = new Map<string, number>()
  readonly #share: number
  readonly #shadow: boolean
  readonly #retention: Retention
  /** Which are kept, of users and of series; `null` for none. */
  readonly #days: Calendar | null
  readonly #invoices: Invoices
  /** How stores name the windows that are counted in. */
  readonly #counted: readonly string[]
  /** Whether a replica lags, or takes the place of Redis now. */
  #isFailingOver = false
  /** While the store is only read, its clock does not leap. */
  #mayLeap = true
  #orders = 0

  constructor(world: World, runner: ScriptRunner, calendars: readonly Window[], weather: Weather) {
    this.#world = world
    this.#runner = runner
    const random = world.random
    this.#random = random
    this.#weather = weather
    this.#users = USERS.slice(0, random.integer(1, USERS.length))
    this.#share = random.pick([0, 0, 0.1, 0.5])
    this.#shadow = random.chance(0.1)
    this.#retention = random.chance(weather.kept) ? KEPT : NO_RETENTION
    const books = bookWindow(calendars[0]?.calendar?.zone ?? random.pick(ZONES))
    this.#days = this.#retention === NO_RETENTION ? null : (books.calendar ?? null)
    const kept = this.#days === null ? {} : { books }
    this.#settings = Array.from({ length: random.integer(1, 4) }, () =>
      settingOf(random, calendars, weather).map((limits) => ({
        member: { ...limits, ...kept },
        alone: { ...limits, ...kept, organisation: null },
      })),
    )
    this.#grants = random.chance(0.5) ? new WorldGrants(random, OWNERS, world.epoch, weather.lastsMs) : null
    const windows = windowsIn(this.#settings)
    this.#counted = (this.#days === null ? windows : [...windows, books]).map((window) => countedName(window))
    const ends = endsBy([...calendars, books])
    const hasMonths = calendars.some(({ calendar }) => calendar?.unit === 'month')
    this.#periodDays = hasMonths ? new WorldDays(random, calendars, OWNERS) : null
    const stored = createStored(PREFIX, COUNTERS)
    const keeps = ({ scope, id }: CounterName): boolean => keptOf(this.#retention, scope, id) !== null
    this.oracle = new Oracle({
      world,
      stored,
      counters: COUNTERS,
      boundMs: BOUND_MS,
      shadow: this.#shadow,
      share: this.#share,
      longWindow: weather.longWindow,
      compareEvery: weather.compareEvery,
      endOf: (name, seconds, startedAt) =>
        this.#periodDays === null ? ends(seconds, startedAt) : this.#periodDays.endOf(ends, name, seconds, startedAt),
      keeps,
    })
    this.#invoices = new Invoices({
      world,
      rules: { windows, books, zone: books.calendar?.zone ?? 'UTC', kept: this.#retention },
      counters: COUNTERS.filter(keeps),
      days: (name) => this.oracle.days(name),
      series: (by, zone) => this.usage.sums(by, zone),
    })
    const names = createKeys(PREFIX)
    const keptDays = this.#days && { zone: this.#days.zone, seconds: this.#retention.longestSeconds }
    this.usage = new UsageBooks(world, names.flush, keptDays)
    const isFlush = ([key = '']: readonly string[]): boolean => key.startsWith(names.flush(''))
    const isBatch = ([key = '']: readonly string[]): boolean => key.startsWith(names.instance(''))
    const executed = (execution: Execution): void => {
      const { keys, args, at, reply } = execution
      if (isFlush(keys)) this.usage.executed(keys, Number(args[0]), at, reply[0] === '-'.charCodeAt(0))
      else if (isBatch(keys)) this.oracle.executed(execution)
    }
    const read = (keys: readonly string[]): readonly string[] => (isBatch(keys) ? stored.keys : [])
    const leap = (now: number): number => (this.#mayLeap ? this.#leap(now) : 0)
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
      if (this.#random.chance(0.5)) await this.#countLongBefore()
      for (const place of this.#places) this.#start(place)
      await this.#world.runUntil(this.#world.now + 500)
      await this.#roughTime()
      await this.#settle()
      this.oracle.settled(this.#weather.isCalm)
      const told = (category: string): number => this.oracle.told(category)
      this.usage.settled(this.#weather.isCalm, await this.#runner.hashes(), CATEGORIES, told)
      this.#world.check()
      if (this.#days !== null) await this.#readInvoices()
    } finally {
      release()
    }
  }

  /** The windows have been counted for longer than the world lasts, so that all of its days are known. */
  async #countLongBefore(): Promise<void> {
    const world = this.#world
    const actor = createActor('before')
    const { latencyMs } = this.#network
    this.#network.latencyMs = 0.2
    this.#redis.clockOffsetMs = -LONG_BEFORE_MS
    world.after(
      0,
      () => {
        const store = openRedisStore({ url: 'redis://simulated:6379', prefix: PREFIX, observe() {} })
        world.after(100, () => void store.noteCounted(this.#counted), actor)
        world.after(200, () => void store.close(), actor)
      },
      actor,
    )
    await world.runUntil(world.now + 300)
    this.#redis.clockOffsetMs = 0
    this.#network.latencyMs = latencyMs
  }

  count(): Outcome['count'] {
    return { ...this.oracle.count, ...this.usage.count, ...this.#invoices.count }
  }

  /** Through one of the gateways, as its administrators would. */
  async #readInvoices(): Promise<void> {
    const { gateway } = this.#places[0] as Place
    if (gateway === null) throw new Error('no gateway runs')
    const world = this.#world
    this.#mayLeap = false
    this.#network.latencyMs = 0.2
    let isRead = false
    const read = (): void => {
      this.#invoices.check(gateway.store).then(
        () => {
          isRead = true
        },
        (error: unknown) => world.fail(`the invoices cannot be read: ${error}`),
      )
    }
    world.after(0, read, gateway.actor)
    for (let ms = 0; !isRead && ms < 60_000; ms += 50) await world.runUntil(world.now + 50)
    world.check()
    if (!isRead) throw new Error('the invoices were not read in a minute')
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
    this.#world.after(0, () => this.#request(place, gateway, mustBeDecided), gateway.actor)
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
      recorder.keepDays(this.#days)
      const clock = createStoreClock({ store, observe: recorder.observer })
      clock.start()
      const notes = createCountedNotes(store, () => [...this.#counted])
      // Not at once: there is no connection yet.
      this.#world.after(450, () => void notes.start(), actor)
      this.usage.starts(gateway)
      place.gateway = Object.assign(gateway, { ledger, store, recorder, clock, notes, forwardMs: 0 })
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
    if (seen.type === 'charges_lost') this.oracle.hearsOfLoss(instance, seen.tokens, seen.since)
    this.#world.tell(`${instance} observes ${type} ${JSON.stringify(rest)}`)
    if (type === 'outcome_unknown' && !seen.settled && ended === 'not') this.#world.fail('a batch was given up')
    if (type === 'store_out' && this.#weather.isCalm) this.#world.fail('the store was given up without need')
  }

  #chargeAt(place: Place): void {
    const { gateway } = place
    if (gateway === null) return
    for (let n = this.#random.pick([1, 1, 1, 2, 6]); n > 0; n--) {
      this.#world.after(0, () => this.#request(place, gateway, this.#weather.isCalm), gateway.actor)
    }
  }

  /** What the steps of a request do that charge it and tell what it was. */
  #request(place: Place, gateway: Running, mustBeDecided: boolean): void {
    const id = ++this.#orders
    const charging = this.#chargingOf(gateway, id, mustBeDecided)
    const order = this.#orderOf(place)
    settle(charging, order).then(
      (settlement) => {
        if (isDenial(settlement)) return
        const { decision, charge } = settlement
        const refusedBy = typeof settlement.refusedBy === 'object' ? settlement.refusedBy : null
        const { category, cost, user } = charge
        const of = { category, planLabel: order.caller.plan, route: order.route.match, user, cost, refusedBy }
        charging.observe(request({ ...of, httpStatus: decision?.accepted ? 200 : null }))
        if (isPaid(settlement) && this.#random.chance(0.4)) this.#ends(gateway, charging, id, settlement)
      },
      (error: Error) => this.#world.fail(`charge ${id} cannot be settled: ${error.stack}`),
    )
  }

  /** The request never reached the upstream, or its response says what it cost. */
  #ends(gateway: Running, charging: Charging, id: number, paid: Paid): void {
    const random = this.#random
    const costs = metersOf(paid.charge).map(({ cost }) => cost)
    const isUnreached = random.chance(0.5)
    const tokens = costs.map(() => (isUnreached ? 0 : random.integer(0, 8)))
    this.#world.after(random.between(0, 400), () => {
      if (gateway.ended !== 'not') return
      this.#world.tell(`${gateway.instance} ${isUnreached ? 'gives charge' : `says ${tokens} of charge`} ${id}`)
      for (const [meter, cost] of costs.entries()) {
        const amount = cost - (tokens[meter] as number)
        if (amount !== 0 || paid.decision.once !== undefined) this.oracle.givesBack(id, meter, amount, isUnreached)
      }
      if (isUnreached) void giveBack(charging, paid)
      else
        for (const [meter, of] of tokens.entries())
          void correct(charging, paid, { tokens: of, source: 'response' }, meter)
    })
  }

  #chargingOf(gateway: Running, id: number, mustBeDecided: boolean): Charging {
    const { oracle } = this
    return {
      ledger: {
        decide: (charge, asker) =>
          void this.#charge(gateway, Object.assign(charge, { id }), mustBeDecided).then(
            (decision) => asker.decided(decision),
            (error) => asker.undecided(error),
          ),
        refund: (refund) => gateway.ledger.refund(refund),
      },
      knownUsers: { lookUp: async () => false },
      observe: (seen) => {
        if (seen.type === 'settled') oracle.reports(id, seen)
        this.usage.observes(gateway, seen)
        gateway.recorder.observer(seen)
      },
    }
  }

  async #charge(gateway: Running, charge: Charge & { readonly id: number }, mustBeDecided: boolean): Promise<Decision> {
    const { oracle } = this
    const { id, cost, user, category, others = [] } = charge
    const more = others.map((meter) => `, ${meter.cost} to ${meter.category}`).join('')
    this.#world.tell(`${gateway.instance} charges ${cost} to ${user}/${category}${more}: ${id}`)
    oracle.asks(charge, gateway)
    try {
      const decision = await gateway.ledger.charge(charge)
      const alone = decision.limits === undefined ? '' : ' without the store'
      this.#world.tell(`charge ${id} is ${decision.accepted ? 'accepted' : 'refused'}${alone}`)
      oracle.decided(id, decision)
      if (mustBeDecided && alone !== '') this.#world.fail(`charge ${id} was decided without the store`)
      return decision
    } catch (error) {
      this.#world.tell(`charge ${id} fails: ${error}`)
      oracle.failed(id)
      if (mustBeDecided && gateway.ended === 'not') this.#world.fail(`charge ${id} failed without need`)
      throw error
    }
  }

  #orderOf(place: Place): SettlementOrder {
    const random = this.#random
    const user = random.pick(this.#users)
    const organisation = random.pick([null, ...ORGANISATIONS])
    const category = random.pick(CATEGORIES)
    const plan = `p${this.#plans.get(user) ?? 0}`
    const repetition = { header: 'Idempotency-Key' } as Route['repetition']
    return {
      rules: this.#rulesOf(place),
      route: { match: `POST /${category}`, shadow: false, repetition } as Route,
      caller: { user, organisation, plan, kind: 'jwt' },
      plan: { name: plan, from: 'credential', unknown: null },
      category,
      cost: random.integer(1, 4),
      ...(random.chance(0.2) && { others: othersOf(category, random) }),
      once: random.chance(this.#weather.keyed) ? onceOf(user, random) : null,
      accept: undefined,
    }
  }

  /** Of a configuration what the charge of a request asks it for. */
  #rulesOf(place: Place): Rules {
    const policy: Pick<Policy, 'limitsFor' | 'sourceOf' | 'isShadowed'> = {
      limitsFor: (category, { user, organisation }) => {
        const { member, alone } = place.setting[this.#plans.get(user) ?? 0] as Setting[number]
        const ofPlan = organisation === null ? alone : member
        const limits = this.#periodDays?.limitsOf(ofPlan, user, organisation) ?? ofPlan
        return this.#grants === null ? limits : this.#grants.limitsOf(limits, category, user, organisation)
      },
      sourceOf: () => 'baseline',
      isShadowed: () => false,
    }
    const rules: Partial<Rules> = {
      policy: () => policy as Policy,
      shadow: () => this.#shadow,
      timeZone: 'UTC',
      retryAfterMax: Number.POSITIVE_INFINITY,
      ahead: () => NOTHING_AHEAD,
    }
    return rules as Rules
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
      case 'fail over':
        return this.#failOver()
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
        this.#setClock(gateway)
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

  /** From now on a replica lacks what is written; after a while it takes the place of Redis. */
  async #failOver(): Promise<void> {
    if (this.#isFailingOver) return
    this.#isFailingOver = true
    await this.#redis.replicate()
    this.oracle.lags()
    this.usage.lags()
    const world = this.#world
    const takeOver = async (): Promise<void> => {
      world.tell('* the replica takes over')
      await this.#redis.failOver()
      this.oracle.failsOver()
      this.usage.failsOver()
      this.#isFailingOver = false
      world.after(this.#random.between(20, 2500), () => this.#redis.start(), world.nobody)
    }
    world.after(this.#random.between(0.005, 1) * this.#weather.replicaLagMs, takeOver, world.nobody)
  }

  /** Forward by more than half an hour in all, the machine would count as one that slept: what is open then is given up. */
  #setClock(gateway: Running): void {
    const ms = this.#random.pick([-3_600_000, -1000, 1000, 1_500_000])
    if (ms > 0 && gateway.forwardMs + ms > 1_700_000) return
    gateway.forwardMs += Math.max(0, ms)
    gateway.actor.clockOffsetMs += ms
  }

  #close({ ledger, store, recorder, clock, notes, actor }: Running): void {
    clock.stop()
    notes.stop()
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

/** What a request costs beside, in another category. */
function othersOf(category: string, random: Random): NonNullable<SettlementOrder['others']> {
  return CATEGORIES.filter((each) => each !== category).map((each) => ({ category: each, cost: random.integer(1, 4) }))
}

/** By what a request is known that may come again, whatever it costs and whatever limits it has meanwhile. */
function onceOf(user: string, random: Random): Once {
  const key = JSON.stringify([user, random.integer(1, 4)])
  const [forMs, replays] = [random.pick([500, 5000, 60_000]), random.integer(1, 3)]
  return { key, body: random.pick(['one body', 'one body', 'another']), forMs, replays }
}

/** All that a setting limits, each once. */
function windowsIn(settings: readonly Setting[]): Window[] {
  const all = settings.flatMap((plans) => plans.flatMap(({ member }) => member.personal.map(({ window }) => window)))
  return [...new Map(all.map((window) => [window.seconds, window])).values()]
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
function settingOf(random: Random, calendars: readonly Window[], weather: Weather): Limits[] {
  const windows = windowsOf(random, calendars, weather)
  const generosity = random.pick([1, 5, 20])
  const { limitSeconds } = weather
  const times = ({ seconds }: Window): number => (limitSeconds === 0 ? 1 : Math.ceil(seconds / limitSeconds))
  const list = (most: number): Limit[] =>
    windows.map((window) => ({ window, limit: times(window) * random.integer(4, most * generosity) }))
  const organisation = random.chance(0.5) ? list(30) : []
  const global = random.chance(0.8) ? list(40) : null
  return Array.from({ length: PLANS }, () => ({ personal: list(20), organisation, global }))
}
