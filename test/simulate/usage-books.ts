import type { Observation } from '../../src/observe/observation.ts'
import { BOOK_SECONDS } from '../../src/quota/books.ts'
import { planLabel } from '../../src/quota/policy.ts'
import { COUNT_FIELDS, type SeriesKind } from '../../src/usage/series.ts'
import type { UsageFlush } from '../../src/usage/usage-log-store.ts'
import { dateOf, dayBegins } from './calendars.ts'
import type { Gateway } from './oracle.ts'
import type { World } from './world.ts'

const MINUTE_MS = 60_000
const HALF_HOUR_MS = 30 * MINUTE_MS
const DAY_MS = 24 * 60 * 60_000
/** How long a store keeps a half hour, and a refusal. */
const KEPT_MS = 7 * DAY_MS

const FIELDS = ['requests', 'accepted', 'tokens', 'refusedPersonal', 'refusedOrganisation', 'refusedGlobal'] as const
type Field = (typeof FIELDS)[number]
const REFUSED = {
  personal: 'refusedPersonal',
  organisation: 'refusedOrganisation',
  global: 'refusedGlobal',
} as const satisfies Record<string, Field>

/** How much, by a text that says what of. What is 0 is left out when two are compared. */
type Sums = Map<string, number>

/** One start of a gateway, and what it has counted and sent. */
interface Sender {
  readonly gateway: Gateway
  /** Counted since the last flush with series was made. */
  counted: Sums
  /** Refusals that no flush has yet. */
  refusals: number
  /** What it sent, by number, and what it sent last. */
  readonly flushes: Map<number, Sent>
  last: Sent | null
  /** Number of the last flush that the store has added, as it knows. */
  added: number
  /** All that it holds. */
  inStore: Set<number>
}

interface Sent {
  readonly flush: UsageFlush
  /** Whether the store has added it; it may have forgotten that since. */
  isAdded: boolean
}

/** Which days are kept beside the half hours. */
export interface KeptDays {
  readonly zone: string
  /** For how long after their end. */
  readonly seconds: number
}

/** A sum of tokens of a half hour, or of a day. */
export interface SeriesSum {
  readonly name: string
  readonly start: number
  readonly tokens: number
}

/** What Redis holds: by key, then name. */
export type Hashes = Readonly<Record<string, Readonly<Record<string, string>>>>

/**
 * The series and the refusals once more, from what gateways observed: each flush must hold all that was counted since the one before, and
 * count once.
 */
export class UsageBooks {
  readonly #world: World
  readonly #keyOf: (instance: string) => string
  readonly #senders = new Map<string, Sender>()
  readonly #series: Sums = new Map()
  readonly #refusals: Sums = new Map()
  /** Tokens that are in no series: their gateway ended before, or they are of a half hour, or of a day, that no store keeps. */
  readonly #lost: Sums = new Map()
  readonly #days: KeptDays | null
  /** The first moment of the day of each minute. */
  readonly #dayStarts = new Map<number, number>()
  readonly count = {
    flushes: 0,
    repeatedFlushes: 0,
    lostFlushes: 0,
    forgottenFlushes: 0,
    inEpisodes: 0,
    tokens: 0,
    tokensOfDays: 0,
    lostTokens: 0,
  }
  /** Takes what the store holds back to where the replica is; `null` while there is none that lags. */
  #takeBack: (() => void) | null = null

  /** @param keyOf where the number of the last flush of an instance is kept @param days `null` for none */
  constructor(world: World, keyOf: (instance: string) => string, days: KeptDays | null) {
    this.#world = world
    this.#keyOf = keyOf
    this.#days = days
  }

  starts(gateway: Gateway): void {
    const flushes = new Map<number, Sent>()
    this.#senders.set(gateway.instance, {
      gateway,
      counted: new Map(),
      refusals: 0,
      flushes,
      last: null,
      added: 0,
      inStore: new Set(),
    })
  }

  /** A replica lags: what the store learns from now on it lacks. */
  lags(): void {
    const held = new Map(
      [...this.#senders.values()].map((sender) => [sender, { added: sender.added, inStore: new Set(sender.inStore) }]),
    )
    const sums = [this.#series, this.#refusals, this.#lost].map((of) => [of, new Map(of)] as const)
    this.#takeBack = () => {
      for (const sender of this.#senders.values()) {
        Object.assign(sender, held.get(sender) ?? { added: 0, inStore: new Set() })
      }
      for (const [of, before] of sums) {
        of.clear()
        for (const [name, n] of before) of.set(name, n)
      }
    }
  }

  /** The replica takes the place of the store. */
  failsOver(): void {
    this.#takeBack?.()
    this.#takeBack = null
  }

  observes({ instance }: Gateway, seen: Observation): void {
    const { counted, refusals } = this.#sender(instance)
    if (seen.type === 'request') {
      // In which half hour depends on what the gateway knows of the store's clock.
      this.#add(counted, seen, 'requests', null, 1)
    } else if (seen.type === 'settled' && seen.decision !== null) {
      const { kind, tokens, isFurther, refusedBy, route } = seen
      const { once } = seen.decision
      const at = kind !== 'repeated' && once?.kind === 'replayed' ? once.since : seen.decision.at
      const names = { category: seen.charge.category, plan: planLabel(seen.plan), route }
      if (tokens !== 0) this.#add(counted, names, 'tokens', at, tokens)
      // A request of several meters is one.
      if (kind === 'charged' && isFurther === undefined) this.#add(counted, names, 'accepted', at, 1)
      if (refusedBy === null || typeof refusedBy === 'string') return
      if (kind === 'refused') this.#add(counted, names, REFUSED[refusedBy.scope], at, 1)
      this.#sender(instance).refusals = refusals + 1
    }
  }

  /** A gateway hands a flush to its store. */
  sends(flush: UsageFlush): void {
    const sender = this.#sender(flush.instance)
    const { last, flushes, counted } = sender
    if (last?.flush.sequence === flush.sequence) {
      this.#mustBe(`${nameOf(flush)} when it is sent again`, JSON.stringify(flush), JSON.stringify(last.flush))
      return
    }
    this.#mustBe(`the number of ${nameOf(flush)}`, flush.sequence, (last?.flush.sequence ?? 0) + 1)
    this.#mustBe(`whether the flush before ${nameOf(flush)} was added`, last?.isAdded ?? true, true)
    sender.last = { flush, isAdded: false }
    flushes.set(flush.sequence, sender.last)
    sender.refusals -= flush.episodes.reduce((sum, { count }) => sum + count, 0)
    if (flush.series.length === 0) return
    this.#mustBe(nameOf(flush), show(sumsOf(flush, () => true, false)), show(counted))
    counted.clear()
  }

  /** Redis ran the script of a flush. @param keys and the first of its arguments */
  executed(keys: readonly string[], sequence: number, at: number, isError: boolean): void {
    const sender = [...this.#senders].find(([instance]) => this.#keyOf(instance) === keys[0])?.[1]
    const sent = sender?.flushes.get(sequence)
    if (sender === undefined || sent === undefined) throw new Error('a script ran for a flush that nobody sent')
    if (isError) return
    if (sequence <= sender.added) this.count.repeatedFlushes++
    else this.#adds(sender, sent, at)
  }

  #adds(sender: Sender, sent: Sent, at: number): void {
    const { flush } = sent
    sent.isAdded = true
    sender.added = flush.sequence
    sender.inStore.add(flush.sequence)
    this.count.flushes++
    this.#world.tell(`redis adds ${nameOf(flush)}`)
    const keptMs = (zone: string | null): number => (zone === null ? KEPT_MS : this.#keptDaysMs())
    const isKept: IsKept = (start, zone) => start > at - keptMs(zone) && start < at + DAY_MS
    for (const [name, n] of sumsOf(flush, isKept, true)) addTo(this.#series, name, n)
    this.#lose(sumsOf(flush, (start, zone) => !isKept(start, zone), true))
    for (const { id, last, count } of flush.episodes) {
      if (last > at - KEPT_MS) addTo(this.#refusals, id, count)
      this.count.inEpisodes += count
    }
  }

  /** After everything has settled, and whoever still runs has sent what it had. */
  settled(isCalm: boolean, hashes: Hashes, categories: readonly string[], told: (category: string) => number): void {
    for (const sender of this.#senders.values()) this.#ended(sender, isCalm)
    const { series, refusals } = stored(hashes)
    this.#mustBe('the series', show(series), show(this.#series))
    this.#mustBe('the refusals', show(refusals), show(this.#refusals))
    for (const category of categories) {
      for (const zone of this.#days === null ? [null] : [null, this.#days.zone]) {
        const sums = sumsIn(series, 'category', zone).filter(({ name }) => name === category)
        const tokens = sums.reduce((sum, each) => sum + each.tokens, 0)
        const lost = this.#lost.get(lostName(category, zone)) ?? 0
        const of = zone === null ? 'half hours' : 'days'
        this.#mustBe(`the tokens of ${category} by ${of}, with ${lost} that are lost,`, tokens + lost, told(category))
        this.count[zone === null ? 'tokens' : 'tokensOfDays'] += tokens
        if (zone === null) this.count.lostTokens += lost
      }
    }
  }

  /** What the store has of a kind. @param zone of its days; `null` for its half hours */
  sums(by: SeriesKind, zone: string | null): SeriesSum[] {
    return sumsIn(this.#series, by, zone)
  }

  /** Of whoever ended, the last flush may be missing, and what was counted after it; of anybody what a failover took. */
  #ended({ gateway: { instance, ended }, counted, refusals, flushes, last, inStore }: Sender, isCalm: boolean): void {
    for (const { flush, isAdded } of flushes.values()) {
      if (inStore.has(flush.sequence)) continue
      this.count[isAdded ? 'forgottenFlushes' : 'lostFlushes']++
      this.#lose(sumsOf(flush, () => true, false))
    }
    const isAllSent = (last?.isAdded ?? true) && show(counted) === '' && refusals === 0
    if (isAllSent) return
    if (ended === 'not' || (isCalm && ended === 'closed')) this.#world.fail(`${instance} has not sent all it counted`)
    this.#lose(counted)
  }

  #lose(sums: Sums): void {
    for (const [name, n] of sums) {
      const [by, category, field, zone] = partsOf(name)
      if (by === 'category' && field === 'tokens') addTo(this.#lost, lostName(category, zone), n)
    }
  }

  /** @param at when it counts; `null` if that is left open */
  #add(sums: Sums, seen: Partial<Named> | object, field: Field, at: number | null, n: number): void {
    const { category, route, ...rest } = seen as Named & { planLabel?: string }
    const names = { all: '', category, plan: rest.planLabel ?? rest.plan, route }
    const half = at === null ? null : Math.floor(at / HALF_HOUR_MS) * HALF_HOUR_MS
    for (const [by, name] of Object.entries(names)) {
      addTo(sums, nameOfSum(by, name, field, null, half), n)
      if (this.#days === null) continue
      const { zone } = this.#days
      addTo(sums, nameOfSum(by, name, field, zone, at === null ? null : this.#dayOf(at, zone)), n)
    }
  }

  #dayOf(at: number, zone: string): number {
    const minute = Math.floor(at / MINUTE_MS)
    const start = this.#dayStarts.get(minute) ?? dayBegins(dateOf(at, zone), zone)
    this.#dayStarts.set(minute, start)
    return start
  }

  /** From its start. */
  #keptDaysMs(): number {
    return this.#days === null ? 0 : 1000 * (this.#days.seconds + BOOK_SECONDS)
  }

  #sender(instance: string): Sender {
    const sender = this.#senders.get(instance)
    if (sender === undefined) throw new Error(`${instance} never started`)
    return sender
  }

  #mustBe(what: string, found: unknown, expected: unknown): void {
    if (found !== expected) this.#world.fail(`${what} is ${found} and not ${expected}`)
  }
}

interface Named {
  readonly category: string
  readonly plan: string | null
  readonly route: string
}

type IsKept = (start: number, zone: string | null) => boolean

/** @param zone of a day; `null` for a half hour @param start `null` if that is left open */
function nameOfSum(by: string, name: string | null, field: Field, zone: string | null, start: number | null): string {
  return JSON.stringify([by, name, field, zone, start])
}

function partsOf(name: string): [by: SeriesKind, name: string, field: Field, zone: string | null, start: number] {
  return JSON.parse(name)
}

/** The tokens of a kind, by half hours, or by the days of a zone. */
function sumsIn(sums: Sums, by: SeriesKind, zone: string | null): SeriesSum[] {
  return [...sums].flatMap(([text, tokens]) => {
    const [kind, name, field, of, start] = partsOf(text)
    return kind === by && field === 'tokens' && of === zone ? [{ name, start, tokens }] : []
  })
}

function lostName(category: string, zone: string | null): string {
  return JSON.stringify([category, zone])
}

/** @param isExact whether all fields are told by their half hours, and days */
function sumsOf({ series }: UsageFlush, isKept: IsKept, isExact: boolean): Sums {
  const sums: Sums = new Map()
  for (const { by, name, start, zone, counts } of series) {
    if (!isKept(start, zone)) continue
    for (const field of FIELDS) {
      const known = isExact || field !== 'requests' ? start : null
      addTo(sums, nameOfSum(by, name, field, zone, known), counts[field])
    }
  }
  return sums
}

/** What Redis holds, in the same words. */
function stored(hashes: Hashes): { series: Sums; refusals: Sums } {
  const [series, refusals]: Sums[] = [new Map(), new Map()] as [Sums, Sums]
  for (const [key, entries] of Object.entries(hashes)) {
    const [, by, start, zone] = /:series(?:-days)?:(\w+):(\d+)(?::(.+))?$/.exec(key) ?? []
    for (const [name, text] of Object.entries(entries)) {
      if (by === undefined) addTo(refusals, name, JSON.parse(text).count)
      else {
        text.split(' ').forEach((n, i) => {
          const field = FIELDS.find((each) => each === COUNT_FIELDS[i])
          if (field !== undefined) addTo(series, nameOfSum(by, name, field, zone ?? null, Number(start)), Number(n))
        })
      }
    }
  }
  return { series, refusals }
}

function addTo(sums: Sums, name: string, n: number): void {
  sums.set(name, (sums.get(name) ?? 0) + n)
}

function show(sums: Sums): string {
  return [...sums]
    .filter(([, n]) => n !== 0)
    .map(([name, n]) => `${name}: ${n}`)
    .sort()
    .join(', ')
}

function nameOf({ instance, sequence }: UsageFlush): string {
  return `flush ${sequence} of ${instance}`
}
