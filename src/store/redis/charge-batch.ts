import type { CounterOf } from '../../quota/arithmetic.ts'
import {
  amountOf,
  type Batch,
  type Charge,
  type Limits,
  type Meter,
  metersOf,
  type Refund,
} from '../../quota/charge.ts'
import {
  type Counted,
  countedIn,
  EVERYBODY,
  grantsIn,
  SCOPE_NAMES,
  type ScopeName,
} from '../../quota/charged-scopes.ts'
import type { Counter } from '../../quota/counter.ts'
import { accountOf, type Grants } from '../../quota/grant.ts'
import { type Kept, longestKept, NO_RETENTION, type Retention } from '../../quota/history.ts'
import type { Once } from '../../quota/once.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { chargedRuns, reportOf } from '../../quota/receipt.ts'
import { BatchText, type Shape } from './batch-text.ts'
import { type Keys, keyOf } from './keys.ts'

/**
 * A batch in the form that charge-one.lua and charge.lua read. This runs for every charge in the gateway's one thread, so it creates
 * no object that the decision does not need.
 */
export interface EncodedBatch {
  /** The key of the instance first, then the keys of the counters, each once. */
  readonly keys: readonly string[]
  /** Everything but keys and charges. */
  readonly json: string
  /** Two or three numbers for each charge, each as two ASCII characters. A Buffer would cost more to send than a string. */
  readonly charges: string
  /** The sections in the order in which the script opens them. */
  readonly opened: readonly Opened[]
  readonly counterOf: CounterOf
}

/** By scope, the first section under the key of each user or organisation. For the global scope by category. */
type Owners = Readonly<Record<ScopeName, Map<string, Section>>>

/** What many charges have in common. */
interface Plan {
  readonly category: string
  readonly cost: number
  readonly limits: Limits
  readonly forced: true | undefined
  /** The position of the plan in the text of the batch. */
  readonly position: number
  /** `null` for a charge without personal windows. */
  readonly own: Shape | null
  /** `null` for a charge without windows of an organisation. */
  readonly theirs: Shape | null
  readonly everybody: Section | null
  readonly all: Shape | null
}

/** One category under a key. */
interface Section {
  /** The position of the key, counted from 1 as in Lua. */
  readonly position: number
  readonly category: string
  /** The counter that the script found. */
  readonly counter: Counter
  /**
   * For the first section under a key: the shape that the script has open there at this point of the batch. `null` for a
   * user, whose section each charge opens anew.
   */
  open: Shape | null
  /** Another category under the same key. */
  next: Section | null
}

/** The most meters of a charge for which once.lua has room. */
const MOST_METERS = 4

/** What the script needs to open the sections of a meter: its plan, and the keys of the user and the organisation. */
interface Opening {
  readonly user: number
  readonly plan: number
  readonly organisation: number | null
}

interface Opened {
  readonly counter: Counter
  readonly shape: Shape
}

/**
 * @param now about the time of the store's clock, for periods of calendars
 * @param retention how long runs are kept. Default: they are not kept
 */
export function encodeBatch(
  batch: Batch,
  keys: Keys,
  now = Date.now(),
  retention: Retention = NO_RETENTION,
): EncodedBatch {
  const writer = new BatchWriter(keys, batch.instance, retention)
  for (const refund of batch.refunds) writer.refund(refund)
  for (const charge of batch.charges) writer.charge(charge)
  return writer.written(now)
}

/** Adds to the text of a batch whatever it does not contain yet. */
class BatchWriter {
  readonly #text = new BatchText()
  readonly #owners: Owners = { personal: new Map(), organisation: new Map(), global: new Map() }
  readonly #plans: Plan[] = []
  readonly #opened: Opened[] = []
  /** The positions of the keys of anonymous users, whose runs are kept for `anonymousSeconds`. */
  readonly #anonymous: number[] = []
  readonly #remembered = new Map<string, number>()
  readonly #keys: Keys
  readonly #retention: Retention
  readonly #hasHistory: boolean

  constructor(keys: Keys, instance: string, retention: Retention) {
    this.#keys = keys
    this.#retention = retention
    this.#hasHistory = longestKept(retention) > 0 || retention.anonymousSeconds > 0
    this.#text.key(keys.instance(instance))
  }

  refund(back: Refund): void {
    const first = this.#text.refundCount + 1
    for (const { scope, id, category, runs } of chargedRuns(back)) {
      const { position } = this.#ownerOf(scope, id, category)
      this.#text.refund(position, category, amountOf(back), runs)
    }
    const report = reportOf(back)
    if (report !== null) this.#text.use(this.#rememberedAt(report.once), report, first)
  }

  charge(charge: Charge): void {
    const { user, organisation, category, once } = charge
    if (once !== undefined) this.#text.once(this.#rememberedAt(once), once, receiptText(charge))
    const owner = this.#ownerOf('personal', user, category)
    const { position, own, theirs, everybody, all } = this.#planOf(charge)
    if (charge.others !== undefined || hasGrants(charge)) {
      this.#meters(charge)
      return
    }
    if (own !== null) this.#opened.push({ counter: sectionOf(owner, category).counter, shape: own })
    const their = theirs === null ? null : this.#ownerOf('organisation', organisation ?? '', category)
    this.#text.charge(owner.position, position, their === null ? null : their.position)
    if (their !== null && theirs !== null) this.#open(their, theirs)
    if (everybody !== null && all !== null) this.#open(everybody, all)
  }

  /** A charge with several meters or with grants opens its user's and organisation's sections for itself, even if other charges share them. */
  #meters(charge: Charge): void {
    if ((charge.others?.length ?? 0) >= MOST_METERS) {
      throw new StoreError(`a charge has at most ${MOST_METERS} meters`, 'other', 'no')
    }
    const [first, ...others] = metersOf(charge).map((meter, i) => this.#openMeter(meter, i)) as [Opening, ...Opening[]]
    this.#text.meters(others.flatMap(({ plan, organisation }) => [plan, organisation ?? 0]))
    this.#text.charge(first.user, first.plan, first.organisation)
  }

  #openMeter(meter: Meter, i: number): Opening {
    const { user, organisation, category } = meter
    const { grants } = meter.limits
    const first = this.#ownerOf('personal', user, category)
    const { position, own, theirs, everybody, all } = this.#planOf(meter)
    if (own !== null) {
      this.#opened.push({ counter: sectionOf(first, category).counter, shape: own })
      this.#openGrants(first, 'personal', grants, i)
    }
    const their = theirs === null ? null : this.#ownerOf('organisation', organisation ?? '', category)
    if (their !== null && theirs !== null) {
      this.#openAlone(their, theirs)
      this.#openGrants(their, 'organisation', grants, i)
    }
    if (everybody !== null && all !== null) this.#open(everybody, all)
    return { user: first.position, plan: position, organisation: their?.position ?? null }
  }

  /** Opens all grants of a scope, after its windows. */
  #openGrants(first: Section, scope: 'personal' | 'organisation', grants: Grants | undefined, meter: number): void {
    for (const grant of grantsIn(grants, scope)) {
      const shape = this.#text.shape(accountOf(grant.id), [grant])
      this.#text.grant(meter, scope, shape, grant)
      this.#opened.push({ counter: sectionOf(first, shape.category).counter, shape })
    }
  }

  written(now: number): EncodedBatch {
    const owners = this.#owners
    const counterOf: CounterOf = (scope, id, of) => {
      const first = owners[scope].get(scope === 'global' ? of : id)
      if (first === undefined) throw notAsked()
      return sectionOf(first, of).counter
    }
    const { keys, charges } = this.#text
    return { keys, json: this.#text.json(now, this.#history()), charges, opened: this.#opened, counterOf }
  }

  #history(): string | null {
    if (!this.#hasHistory) return null
    return [...historyRule(this.#keys, this.#retention), this.#retention.anonymousSeconds, ...this.#anonymous].join(' ')
  }

  /** The first section under the key of a user, of an organisation, or of the global scope in a category. */
  #ownerOf(scope: ScopeName, id: string, category: string): Section {
    const name = scope === 'global' ? category : id
    let first = this.#owners[scope].get(name)
    if (first === undefined) {
      const position = this.#text.key(keyOf(this.#keys, scope, name))
      first = { position, category, counter: [], open: null, next: null }
      this.#owners[scope].set(name, first)
      if (this.#hasHistory && scope === 'personal' && this.#retention.isAnonymous(id)) this.#anonymous.push(position)
    }
    return first
  }

  #rememberedAt({ key }: Once): number {
    const position = this.#remembered.get(key) ?? this.#text.key(this.#keys.once(key))
    this.#remembered.set(key, position)
    return position
  }

  /** Consecutive charges are mostly alike, and limits are the same object until the settings change. */
  #planOf(charge: Charge): Plan {
    const { category, cost, limits, forced } = charge
    const counted = countedIn(charge)
    const hasTheirs = counted.organisation.length > 0
    for (let i = this.#plans.length - 1; i >= 0; i--) {
      const plan = this.#plans[i] as Plan
      if (
        plan.limits === limits &&
        plan.cost === cost &&
        plan.category === category &&
        plan.forced === forced &&
        (plan.theirs !== null) === hasTheirs
      ) {
        return plan
      }
    }
    return this.#newPlan(charge, counted)
  }

  #newPlan({ category, cost, limits, forced }: Charge, counted: Counted): Plan {
    const text = this.#text
    const own = counted.personal.length === 0 ? null : text.shape(category, counted.personal)
    const theirs = counted.organisation.length > 0 ? text.shape(category, counted.organisation) : null
    const all = limits.global === null ? null : text.shape(category, limits.global)
    const everybody = all === null ? null : this.#ownerOf('global', EVERYBODY, category)
    const position = text.plan(
      cost,
      forced ? 1 : 0,
      own?.position ?? 0,
      text.limits(counted.personal),
      everybody?.position ?? 0,
      all?.position ?? 0,
      all === null ? 0 : text.limits(counted.global),
      theirs?.position ?? 0,
      theirs === null ? 0 : text.limits(counted.organisation),
    )
    const plan = { category, cost, limits, forced, position, own, theirs, everybody, all }
    this.#plans.push(plan)
    return plan
  }

  /** Opens a section that is not shared, which ends any shared one. */
  #openAlone(first: Section, shape: Shape): void {
    first.open = null
    this.#opened.push({ counter: sectionOf(first, shape.category).counter, shape })
  }

  #open(first: Section, shape: Shape): void {
    if (first.open === shape) return
    first.open = shape
    this.#opened.push({ counter: sectionOf(first, shape.category).counter, shape })
  }
}

/** The length of the common beginning of all keys in bytes, and for how many seconds runs are kept. */
export function historyRule(keys: Keys, { longestSeconds, shorterSeconds }: Kept): [number, number, number] {
  return [Buffer.byteLength(keys.all), longestSeconds, shorterSeconds]
}

/** A receipt without the starts of its runs, which the script adds. Further meters follow in the same form. `receiptIn` reads it. */
function receiptText(charge: Charge): string {
  return JSON.stringify([...receiptWords(charge), ...(charge.others ?? []).map(receiptWords)])
}

/** In the lists of runs a number is the length of a window, and a pair is a grant with its length. */
function receiptWords(meter: Meter): unknown[] {
  const { category, organisation } = meter
  const counted = countedIn(meter)
  const lengths = SCOPE_NAMES.map((scope) => [
    ...counted[scope].map(({ window }) => window.seconds),
    ...(counted[scope].length > 0 ? grantsIn(meter.limits.grants, scope) : []).map(({ id, window }) => [
      id,
      window.seconds,
    ]),
  ])
  return [category, counted.organisation.length === 0 ? null : organisation, ...lengths]
}

function hasGrants({ limits, forced, others }: Charge): boolean {
  return (limits.grants !== undefined && forced !== true) || (others?.some((meter) => hasGrants(meter)) ?? false)
}

function sectionOf(first: Section, category: string): Section {
  for (let section = first; ; section = section.next) {
    if (section.category === category) return section
    section.next ??= { position: first.position, category, counter: [], open: null, next: null }
  }
}

export function unexpected(what: string): StoreError {
  return new StoreError(`unexpected reply to a batch: ${what}`, 'other', 'unknown')
}

export function notAsked(): StoreError {
  return unexpected('a counter was not asked for')
}
