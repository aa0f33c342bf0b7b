import type { Settled } from '../../src/observe/observation.ts'
import { BOOK_SECONDS } from '../../src/quota/books.ts'
import { amountOf, type Batch, type Charge, type Decision, type Refund } from '../../src/quota/charge.ts'
import { SCOPE_NAMES, type ScopeName } from '../../src/quota/charged-scopes.ts'
import { accountOf, type Grant, isAccount } from '../../src/quota/grant.ts'
import type { Limit } from '../../src/quota/window.ts'
import { Books, metersOf, type PaidMeter, type RunEnd, windowsOf } from './books.ts'
import { LostBatches } from './lost-batches.ts'
import type { Execution } from './redis.ts'
import type { CounterName, Keeps, Runs, Stored } from './stored.ts'
import type { Actor, World } from './world.ts'

/** A charge that somebody asked a gateway for, numbered. */
export interface Order extends Charge {
  readonly id: number
}

/** The number of a meter of an order. */
function meterId(id: number, meter: number): number {
  return id + meter / 10
}

/** One start of a gateway. */
export interface Gateway {
  readonly actor: Actor
  /** Under which it sends its batches. */
  readonly instance: string
  /** How it ended: what it still had to send is lost then. */
  ended: 'not' | 'closed' | 'crashed'
  /** How long it stood still until now, in milliseconds. */
  stalledMs: number
}

/** What the store holds of a meter of an order. */
interface Held {
  /** The batch that brought it to the store, and what was decided there. */
  batch: number
  decided: Decision | null
  /** The charge that pays for it, if it has a key: its own, or that which it repeats. */
  payer: PaidMeter | null
  /** What the store has given back of it, or would have if others did not use its key; and the batch that brought that. */
  refunded: number | null
  refundedBy: number
}

const NOTHING_HELD: Held = { batch: 0, decided: null, payer: null, refunded: null, refundedBy: 0 }

/** What is known of a meter of an order, which is here as a charge of it alone, under its own number. */
interface Story extends Held {
  readonly order: Order
  readonly gateway: Gateway
  readonly askedAt: number
  readonly stalledMs: number
  /** `alone`: accepted without the store. */
  response: 'none' | 'accepted' | 'alone' | 'refused' | 'failed'
  /** The answer on local counters. */
  local: Decision | null
  /** Tokens that were asked back of it; below 0 such that it cost in addition. `null` for none. */
  refundAsked: number | null
  /** Whether that was because it reached nobody. */
  isUnreached: boolean
  /** What was reported of its decision; `null` before. */
  outcome: Settled['kind'] | null
  decidedAs: Decision | null
  /** What its caller's gateway reported as given back. */
  reported: number | null
  /** What the store has given back of it, each time that it did. */
  readonly made: number[]
  /** What the store knew of it, and has forgotten. */
  readonly forgotten: Held[]
}

interface Applied {
  readonly batch: Batch
  readonly decisions: readonly Decision[]
  readonly reply: Buffer
}

export const NOTHING_COUNTED = {
  charges: 0,
  several: 0,
  paidByGrants: 0,
  accepted: 0,
  alone: 0,
  refused: 0,
  failed: 0,
  refunds: 0,
  additions: 0,
  replayed: 0,
  reused: 0,
  batches: 0,
  repeats: 0,
  stale: 0,
  anew: 0,
  plans: 0,
  archived: 0,
  booked: 0,
  lost: 0,
  failovers: 0,
  forgottenCharges: 0,
  forgottenTokens: 0,
  voidRefunds: 0,
}
export type Count = typeof NOTHING_COUNTED

export interface OracleOptions {
  readonly world: World
  readonly stored: Stored
  readonly counters: readonly CounterName[]
  /** Within which every caller must be answered, in milliseconds. */
  readonly boundMs: number
  /** Whether what limits refuse is let through, uncharged. */
  readonly shadow: boolean
  /** The share of the limits that a gateway may use while the store is out. */
  readonly share: number
  /** A window that does not end during a simulation, in seconds: only there a sum over all charges is a simple one. */
  readonly longWindow: number
  /** When runs end. */
  readonly endOf: RunEnd
  readonly keeps: Keeps
  /** All runs of all counters are compared after every so many runs of the script, and at the end. */
  readonly compareEvery: number
}

/**
 * Knows from outside what must be true. It sees what gateways ask, send and are told, and each run of the script, and
 * does its own arithmetic on them.
 */
export class Oracle {
  readonly count: Count = { ...NOTHING_COUNTED }
  readonly #world: World
  readonly #options: OracleOptions
  readonly #books: Books
  readonly #stories = new Map<number, Story>()
  readonly #sent = new Map<string, Map<number, Batch>>()
  readonly #uncertain = new Set<Batch>()
  readonly #applied = new Map<string, Map<number, Applied>>()
  /** By length: tokens that were given back to a run which had another start by then, so that they stay in it. */
  readonly #unsure = new Map<number, number>()
  /** Tokens that such a run was to have in addition, and has not. */
  readonly #unadded = new Map<number, number>()
  readonly #lost: LostBatches
  readonly #gateways = new Map<string, Gateway>()
  /** Tokens by category that gateways reported as charged, less those that they reported as given back. */
  readonly #told = new Map<string, number>()
  /** Takes what the store holds back to where the replica is; `null` while there is none that lags. */
  #takeBack: (() => void) | null = null
  #lastSeen: Pick<Execution, 'at' | 'values'> = { at: 0, values: [] }
  #executions = 0

  constructor(options: OracleOptions) {
    this.#world = options.world
    this.#options = options
    this.#books = new Books(options.endOf, options.keeps)
    this.#lost = new LostBatches(options.world, (instance) => this.#gateways.get(instance)?.ended === 'not')
  }

  asks(order: Order, gateway: Gateway): void {
    this.count.charges++
    if (order.others !== undefined) this.count.several++
    this.#gateways.set(gateway.instance, gateway)
    const { once } = order
    for (const [i, meter] of metersOf(order).entries()) {
      this.#begins({ ...meter, ...(once !== undefined && { once }), id: meterId(order.id, i) }, gateway)
    }
  }

  #begins(order: Order, gateway: Gateway): void {
    this.#stories.set(order.id, {
      order,
      gateway,
      askedAt: this.#world.now,
      stalledMs: gateway.stalledMs,
      response: 'none',
      local: null,
      ...NOTHING_HELD,
      refundAsked: null,
      isUnreached: false,
      outcome: null,
      decidedAs: null,
      reported: null,
      made: [],
      forgotten: [],
    })
  }

  /** A caller was told a decision. */
  decided(id: number, decision: Decision): void {
    const story = this.#story(id)
    const isLocal = decision.limits !== undefined
    const decisions = [decision, ...(decision.others ?? [])]
    for (const [i, each] of this.#meters(id).entries()) {
      const of = decisions[i]
      if (of === undefined) {
        this.#world.fail(`charge ${id} was told nothing of its meter ${i}`)
        return
      }
      for (const { startedAt } of [...of.personal, ...(of.organisation ?? []), ...(of.global ?? [])]) {
        if (startedAt > of.at) this.#world.fail(`charge ${id} was told of a window that starts in the future`)
      }
      if (of.accepted !== decision.accepted) this.#world.fail(`charge ${id} was told two verdicts`)
      this.#answered(each, decision.accepted ? (isLocal ? 'alone' : 'accepted') : 'refused')
      if (of.limits !== undefined) this.#decidedAlone(each, of, of.limits)
    }
    if (isLocal) return
    if (![story, ...story.forgotten].some(({ decided }) => same({ ...decision, batch: undefined }, decided))) {
      this.#world.fail(`charge ${id} was told ${show(decision)}, and the store decided ${show(story.decided)}`)
    }
  }

  failed(id: number): void {
    for (const story of this.#meters(id)) this.#answered(story, 'failed')
  }

  #answered(story: Story, response: Exclude<Story['response'], 'none'>): void {
    const { id } = story.order
    const tookMs = this.#world.now - story.askedAt - (story.gateway.stalledMs - story.stalledMs)
    if (story.response !== 'none') this.#world.fail(`charge ${id} was answered twice`)
    if (tookMs > this.#options.boundMs) this.#world.fail(`charge ${id} was answered after ${Math.round(tookMs)} ms`)
    story.response = response
    this.count[response]++
  }

  /** What a gateway admits by itself in one run of a window must stay within its share. */
  #decidedAlone(story: Story, decision: Decision, limits: NonNullable<Decision['limits']>): void {
    story.local = decision
    const { order, gateway } = story
    const alone = [...this.#stories.values()].filter(
      (each) => each.gateway === gateway && each.response === 'alone' && each.order.category === order.category,
    )
    const isOf = (scope: ScopeName, other: Order): boolean => {
      if (scope === 'global') return true
      return scope === 'personal' ? other.user === order.user : other.organisation === order.organisation
    }
    const check = (scope: ScopeName, { window, limit }: Limit, i: number): void => {
      const startedAt = decision[scope]?.[i]?.startedAt
      const used = alone
        .filter((each) => isOf(scope, each.order))
        .filter((each) => startOf(each, scope, window.seconds) === startedAt)
        .reduce((sum, each) => sum + each.order.cost - Math.max(0, each.refundAsked ?? 0), 0)
      const full = order.limits[scope]?.[i]?.limit ?? 0
      if (limit !== Math.floor(full * this.#options.share + 1e-9))
        this.#world.fail(`${limit} is not the share of ${full}`)
      if (decision.accepted && used > limit) {
        this.#world.fail(`${gateway.instance} admitted ${used} of ${limit} by itself in ${window.seconds}s`)
      }
    }
    for (const scope of SCOPE_NAMES) {
      if (scope === 'organisation' && order.organisation === null) continue
      limits[scope]?.forEach((limit, i) => {
        check(scope, limit, i)
      })
    }
  }

  givesBack(id: number, meter: number, amount: number, isUnreached: boolean): void {
    Object.assign(this.#story(meterId(id, meter)), { refundAsked: amount, isUnreached })
  }

  /** A gateway reports what became of a charge: by how much that changed what the store counts. */
  reports(id: number, { kind, tokens, charge, isFurther, decision }: Settled): void {
    const { category } = charge
    const meter = this.#meters(id).findIndex(({ order }) => order.category === category)
    const story = this.#story(meterId(id, meter))
    if (charge.others !== undefined) this.#world.fail(`the meters of charge ${id} are reported together`)
    const isOne = kind === 'refused' || kind === 'shadowed'
    if (!isOne && (isFurther === true) !== meter > 0)
      this.#world.fail(`meter ${meter} of charge ${id} is reported as another`)
    this.#told.set(category, (this.#told.get(category) ?? 0) + tokens)
    if (kind === 'corrected' || kind === 'given_back') {
      if (kind !== (story.isUnreached ? 'given_back' : 'corrected')) this.#world.fail(`charge ${id} is ${kind}`)
      this.#reportsBack(story, 0 - tokens)
      return
    }
    const expected = this.#outcomeOf(meter === 0 || isOne ? decision : this.#story(id).decidedAs)
    if (story.outcome !== null) this.#world.fail(`charge ${id} is reported twice`)
    story.outcome = kind
    story.decidedAs = decision
    if (kind !== expected || tokens !== (kind === 'charged' ? story.order.cost : 0)) {
      this.#world.fail(`charge ${id} is reported as ${kind} with ${tokens} tokens, and is ${expected}`)
    }
  }

  #outcomeOf(decision: Decision | null): Settled['kind'] {
    if (decision?.accepted) return decision.once?.kind === 'replayed' ? 'repeated' : 'charged'
    return this.#options.shadow ? 'shadowed' : 'refused'
  }

  #reportsBack(story: Story, amount: number): void {
    const { id } = story.order
    if (story.reported !== null) this.#world.fail(`charge ${id} is reported as given back twice`)
    story.reported = amount
    const { response, refundAsked } = story
    const isOfDebt = response === 'alone' && refundAsked === amount
    if (story.made.includes(amount) || isOfDebt || (refundAsked === null && amount === 0)) return
    if (amount !== 0 || !this.#isVoid(story)) {
      this.#world.fail(`charge ${id} is reported as ${amount} less, and the store made ${show(story.made)} of it`)
    }
    this.count.voidRefunds++
  }

  /** Whether a refund of it finds nothing in the store, as its gateway knows. */
  #isVoid({ gateway: { instance }, forgotten, response }: Story): boolean {
    return response === 'alone' || forgotten.some(({ batch }) => this.#lost.isKnown(instance, batch))
  }

  /** A replica lags: what the store learns from now on it lacks. */
  lags(): void {
    const books = this.#books.save()
    const held = new Map([...this.#stories].map(([id, story]) => [id, heldOf(story)]))
    const tokens = new Map([...this.#stories.values()].flatMap(({ payer }) => (payer ? [[payer, payer.tokens]] : [])))
    const applied = [...this.#applied].map(([instance, batches]) => [instance, new Map(batches)] as const)
    const [unsure, unadded] = [[...this.#unsure], [...this.#unadded]]
    this.#takeBack = () => {
      books()
      for (const [id, story] of this.#stories) this.#forget(story, held.get(id) ?? NOTHING_HELD)
      for (const [payer, paid] of tokens) payer.tokens = paid
      this.#forgetBatches(new Map(applied))
      refill(this.#unsure, unsure)
      refill(this.#unadded, unadded)
    }
  }

  /** The replica takes the place of the store. */
  failsOver(): void {
    this.count.failovers++
    this.#takeBack?.()
    this.#takeBack = null
  }

  #forget(story: Story, held: Held): void {
    if (!same(heldOf(story), held)) story.forgotten.push(heldOf(story))
    Object.assign(story, held)
  }

  #forgetBatches(known: ReadonlyMap<string, Map<number, Applied>>): void {
    for (const [instance, batches] of this.#applied) {
      const kept = known.get(instance) ?? new Map<number, Applied>()
      for (const [sequence, { batch, decisions }] of batches) {
        if (!kept.has(sequence)) this.#lost.took(batch, decisions)
      }
      this.#applied.set(instance, kept)
    }
  }

  /** A gateway says that the store has forgotten charges. */
  hearsOfLoss(instance: string, tokens: number, since: number): void {
    const sent = this.#sent.get(instance) ?? new Map<number, Batch>()
    this.#lost.reports(sent.get(Math.max(...sent.keys())) as Batch, tokens, since)
  }

  /** A ledger hands a batch to its store. */
  sends(batch: Batch): void {
    const sent = getOrSet(this.#sent, batch.instance, () => new Map<number, Batch>())
    const before = sent.get(batch.sequence)
    const last = Math.max(0, ...sent.keys())
    if (before !== undefined && !same(before, batch) && !same(this.#lost.remade(before), batch))
      this.#world.fail(`${nameOf(batch)} was sent again with other content`)
    if (batch.sequence < last) this.#world.fail(`${nameOf(batch)} was sent after ${last}`)
    sent.set(batch.sequence, batch)
  }

  /** A store told its ledger that it does not know whether a batch was applied, or that this attempt was certainly not. */
  notSettled(batch: Batch, applied: 'no' | 'unknown'): void {
    if (applied === 'unknown') this.#uncertain.add(batch)
    else if (!this.#uncertain.has(batch) && this.#applied.get(batch.instance)?.has(batch.sequence)) {
      this.#world.fail(`${nameOf(batch)} was applied after all`)
    }
  }

  /** When the next window ends; Infinity where none runs. */
  nextEnd(at: number): number {
    return this.#books.nextEnd(at)
  }

  /** Redis ran the script. */
  executed({ keys, args, at, reply, before: stored, values, refuses }: Execution): void {
    this.#lastSeen = { at, values }
    this.#executions++
    this.#books.passTo(at, (name, { seconds, startedAt }) =>
      this.#options.stored.counter(name, stored).some((e) => e.seconds === seconds && e.startedAt === startedAt),
    )
    const batch = this.#batchOf(keys, args)
    const applied = getOrSet(this.#applied, batch.instance, () => new Map<number, Applied>())
    const before = applied.get(batch.sequence)
    const last = Math.max(0, ...applied.keys())
    const isError = reply[0] === '-'.charCodeAt(0)
    const after = Number(args[4])
    const isForgotten = batch.sequence > last && last < after
    if (isForgotten !== startsWith(reply, `-LOST ${last}\r`)) this.#world.fail(`${nameOf(batch)} comes after ${after}`)
    else if (isForgotten) this.#tellsLoss(batch, last, after)
    else if (isError && isOutside(reply)) this.#toBeMadeAnew(batch, args, at, last)
    else if (isError) this.#refusedWhole(batch, last, refuses, reply)
    else if (before !== undefined) this.#repeated(batch, before, reply, last)
    else if (batch.sequence < last) this.#world.fail(`${nameOf(batch)} was applied after ${last}`)
    else applied.set(batch.sequence, { batch, decisions: this.#apply(batch, at), reply })
    this.#compare(at, values)
  }

  /** The store lacks what the gateway knows it had settled. */
  #tellsLoss(batch: Batch, last: number, after: number): void {
    this.#world.tell(`redis knows no batch of ${batch.instance} between ${last} and ${batch.sequence}`)
    this.#lost.tells(batch, { after: last, last: after })
  }

  #batchOf(keys: readonly string[], args: readonly string[]): Batch {
    for (const [instance, batches] of this.#sent) {
      const batch = batches.get(Number(args[0]))
      if (batch !== undefined && this.#options.stored.isFor(instance, keys)) return batch
    }
    throw new Error('a script ran for a batch that nobody sent')
  }

  /** The script was given periods of calendars that the clock of the store is not in. */
  #toBeMadeAnew(batch: Batch, args: readonly string[], at: number, last: number): void {
    this.count.anew++
    this.#world.tell(`redis is not in the periods of ${nameOf(batch)}`)
    const text = JSON.parse(String(args[2])) as { periods?: number[]; shapes: (number | string)[][] }
    const books = text.shapes.flatMap((shape) => (shape.at(-2) === 0 ? [] : [0, 0, ...shape.slice(-3, -1)]))
    const periods = [...(text.periods ?? []), ...books] as number[]
    const isInAll = periods.every((_, i) => i % 4 !== 2 || ((periods[i] ?? 0) <= at && at < (periods[i + 1] ?? 0)))
    if (batch.sequence <= last || isInAll) this.#world.fail(`${nameOf(batch)} was refused for its periods`)
  }

  #refusedWhole(batch: Batch, last: number, refuses: boolean, reply: Buffer): void {
    const isStale = batch.sequence < last
    if (isStale) this.count.stale++
    this.#world.tell(`redis refuses ${nameOf(batch)}: ${reply.toString('latin1', 1, 40).trim()}`)
    if (batch.sequence === last) this.#world.fail(`${nameOf(batch)} was applied, and is refused when it is sent again`)
    else if (!isStale && !refuses) this.#world.fail(`${nameOf(batch)} was refused: ${reply.toString().trim()}`)
  }

  #repeated(batch: Batch, before: Applied, reply: Buffer, last: number): void {
    this.count.repeats++
    this.#world.tell(`redis answers ${nameOf(batch)} again`)
    if (batch.sequence !== last) this.#world.fail(`${nameOf(batch)} was answered after ${last}`)
    if (!reply.equals(before.reply)) this.#world.fail(`${nameOf(batch)} was answered otherwise when it was sent again`)
  }

  #apply(batch: Batch, at: number): Decision[] {
    this.count.batches++
    this.#lost.applied(batch)
    for (const refund of batch.refunds) this.#giveBack(refund, batch.sequence, at)
    const decisions = batch.charges.map((charge) => this.#decide(charge, batch.sequence, at))
    const verdicts = batch.charges.map(({ forced }, i) => (forced ? 'f' : decisions[i]?.accepted ? '1' : '0')).join('')
    this.#world.tell(`redis applies ${nameOf(batch)}: ${batch.refunds.length} refunds, charges ${verdicts}`)
    return decisions
  }

  #decide(charge: Charge, batch: number, at: number): Decision {
    const decision = this.#books.charge(charge, at)
    const { id } = charge as Order
    // What was admitted without the store is paid in sums, which have no number.
    const isKnown = this.#stories.has(id)
    if (!isKnown && charge.forced !== true) this.#world.fail('a charge was sent that nobody asked for')
    if (!isKnown) return decision
    const { once } = decision
    const isKeyed = once !== undefined && once.kind !== 'reused'
    const paid = isKeyed ? this.#books.paid(charge.once?.key ?? '') : undefined
    for (const [i, story] of this.#meters(id).entries()) {
      if (story.batch !== 0) this.#world.fail(`charge ${story.order.id} was sent in two batches`)
      story.batch = batch
      story.decided = i === 0 ? decision : { ...(decision.others?.[i - 1] as Decision), ...(once && { once }) }
      story.payer = paid?.meters[i] ?? null
    }
    this.#countKey(decision)
    if (decision.accepted && decision.paidBy !== undefined) this.count.paidByGrants++
    return decision
  }

  #giveBack(refund: Refund, batch: number, at: number): void {
    const amount = amountOf(refund)
    this.count[amount < 0 ? 'additions' : 'refunds']++
    const given = this.#books.giveBack(refund, at)
    for (const seconds of new Set(given.missed)) {
      this.#unsure.set(seconds, (this.#unsure.get(seconds) ?? 0) + Math.max(0, given.amount))
      this.#unadded.set(seconds, (this.#unadded.get(seconds) ?? 0) + Math.max(0, -given.amount))
    }
    const story = this.#stories.get(meterId((refund.charge as Order).id, refund.meter ?? 0))
    if (story === undefined) return
    if (story.payer !== null) story.payer.tokens -= given.amount
    const { id } = story.order
    if (story.refunded !== null) this.#world.fail(`charge ${id} was given back twice`)
    if (story.decided?.accepted !== true) this.#world.fail(`charge ${id} was given back and never accepted`)
    if (isTold(story) && story.refundAsked !== amount) {
      this.#world.fail(`${amount} of charge ${id} were given back, and not ${story.refundAsked}`)
    }
    if (isTold(story) && story.isUnreached !== (refund.amount === undefined)) {
      this.#world.fail(`charge ${id} was given back as if it had ${story.isUnreached ? '' : 'not '}reached anybody`)
    }
    story.refunded = amount
    story.refundedBy = batch
    story.made.push(given.amount)
  }

  #countKey({ once }: Decision): void {
    if (once?.kind === 'replayed') this.count.replayed++
    if (once?.kind === 'reused') this.count.reused++
  }

  /** The counters must be what the books say. */
  #compare(at: number, values: Execution['values']): void {
    for (const name of this.#options.counters) {
      const stored = this.#options.stored
        .counter(name, values)
        .filter(({ seconds, startedAt }) => at < this.#options.endOf(name, seconds, startedAt))
        .map(({ seconds, startedAt, used }) => `${seconds}s from ${startedAt}: ${used}`)
      const expected = this.#books.running(name, at).map((run) => `${run.seconds}s from ${run.startedAt}: ${run.used}`)
      if (stored.sort().join() !== expected.sort().join()) {
        this.#world.fail(`${show(name)} holds [${stored.join(', ')}] and not [${expected.join(', ')}]`)
      }
      if (this.#executions % this.#options.compareEvery === 0) this.#compareHistory(name, values)
    }
  }

  /** All runs, in the counter and in the history, must be what the books say. */
  #compareHistory(name: CounterName, values: Execution['values']): void {
    const { keeps, stored } = this.#options
    const history = stored.history(name, values)
    const found = keeps(name) ? sums([...history, ...stored.counter(name, values)]) : sums(history)
    const expected = keeps(name) ? sums(this.#books.used(name)) : []
    if (found.join() !== expected.join()) {
      this.#world.fail(`${show(name)} used [${found.join(', ')}] and not [${expected.join(', ')}]`)
    }
  }

  /**
   * After everything has settled. What the store holds is what those were charged who were told so, without what was
   * given back, and what gateways charged that ended before they could tell, give back or pay.
   */
  settled(isCalm: boolean): void {
    for (const story of this.#stories.values()) {
      if (story.response === 'none' && story.gateway.ended === 'not')
        this.#world.fail(`charge ${story.order.id} has no answer`)
      if (this.#isLost(story)) this.#lose(story, isCalm)
      this.#mustBeHeld(story)
    }
    this.count.forgottenTokens += this.#lost.settled()
    for (const name of this.#options.counters) {
      this.#sum(name)
      if (isAccount(name.category)) this.#sumOfGrant(name)
      if (this.#options.keeps(name)) this.#sumOfBooks(name)
      this.#compareHistory(name, this.#lastSeen.values)
      this.count.archived += this.#options.stored.history(name, this.#lastSeen.values).length
    }
  }

  /** Tokens of a category that gateways reported. */
  told(category: string): number {
    return this.#told.get(category) ?? 0
  }

  /** What was used on days of the books. */
  days(name: CounterName): Runs {
    return this.#books.used(name).filter(({ seconds }) => seconds === BOOK_SECONDS)
  }

  /** A failover alone may take with it what a caller was told. */
  #mustBeHeld(story: Story): void {
    const { order, gateway, response, decided, refundAsked, reported } = story
    const lives = gateway.ended === 'not'
    if (response === 'accepted' && decided === null) {
      this.count.forgottenCharges++
      if (!this.#isForgotten(story))
        this.#world.fail(`charge ${order.id} was accepted, and the store has nothing of it`)
    }
    if (lives && refundAsked !== null && reported === null)
      this.#world.fail(`it was never reported that charge ${order.id} was given back`)
  }

  /** Whether the store had accepted it, and has forgotten that together with a batch that nobody sends again. */
  #isForgotten({ gateway: { instance }, decided, forgotten }: Story): boolean {
    return (
      decided === null && forgotten.some((held) => held.decided?.accepted && this.#lost.isGone(instance, held.batch))
    )
  }

  /** Whether the store has made a refund of it, and has forgotten only that. */
  #isRefundForgotten({ gateway: { instance }, forgotten, refunded }: Story): boolean {
    return refunded === null && forgotten.some((held) => this.#lost.isGone(instance, held.refundedBy))
  }

  /** It counts in the store, and nobody was told, or who was told gave it back. */
  #isLost(story: Story): boolean {
    const { decided, refunded, refundAsked } = story
    if (decided?.once?.kind === 'replayed' || this.#isRefundForgotten(story)) return false
    return decided?.accepted === true && refunded === null && (!isTold(story) || refundAsked !== null)
  }

  /** The tokens that a charge counts with in the store at the end: its last amount, or a range where its gateway ended. */
  #counted(story: Story): readonly [number, number] {
    const { cost } = story.order
    const { gateway, response, decided, payer, refunded } = story
    const lives = gateway.ended === 'not'
    const settled = cost - (story.refundAsked ?? 0)
    // Of a charge and its repetitions the store counts one, and what the last of them gave back.
    if (payer !== null && decided?.once?.kind === 'charged') return [payer.tokens, payer.tokens]
    // Admitted alone, it is not owed if its gateway lives to learn that the store let it through.
    const isLearnt = response !== 'alone' || lives
    if (isLearnt && (decided?.once?.kind === 'replayed' || this.#isForgotten(story))) return [0, 0]
    if (this.#isLost(story)) return [cost, cost]
    if (decided?.accepted && this.#isRefundForgotten(story)) return [cost, cost]
    if (response === 'accepted') return [cost - (refunded ?? 0), cost - (refunded ?? 0)]
    if (response !== 'alone') return [0, 0]
    return lives && !this.#isDebtGone(story) ? [settled, settled] : [0, Math.max(cost, settled)]
  }

  /** Whether a debt of its user was paid by a batch that is gone: how much of it was this charge's nobody knows. */
  #isDebtGone({ order, gateway }: Story): boolean {
    return this.#lost
      .gone()
      .some(
        ({ batch }) =>
          batch.instance === gateway.instance &&
          batch.charges.some(
            ({ forced, user, category }) => forced && user === order.user && category === order.category,
          ),
      )
  }

  /** What debts gave back by batches that are gone stays in a window: less at the least, more at the most. */
  #backOfDebts(name: CounterName, window: number): readonly [number, number] {
    let [least, most] = [0, 0]
    for (const { batch } of this.#lost.gone()) {
      for (const refund of batch.refunds) {
        const isStory = this.#stories.has((refund.charge as Order).id)
        const isIn = windowsOf(refund.charge).some((each) => each.window.seconds === window && same(each.name, name))
        if (isStory || !isIn) continue
        least += Math.min(0, amountOf(refund))
        most += Math.max(0, amountOf(refund))
      }
    }
    return [least, most]
  }

  #lose({ order, gateway, response, batch }: Story, isCalm: boolean): void {
    this.count.lost++
    this.#world.tell(
      `charge ${order.id} of ${gateway.instance} (${gateway.ended}) stays in the store: batch ${batch}, ${response}`,
    )
    if (gateway.ended === 'not') this.#world.fail(`charge ${order.id} stays in the store although its gateway lives`)
    if (isCalm && gateway.ended === 'closed') this.#world.fail(`charge ${order.id} was not settled by closing`)
    const lastSent = Math.max(...(this.#sent.get(gateway.instance)?.keys() ?? [0]))
    if (response === 'none' && batch !== lastSent)
      this.#world.fail(`charge ${order.id} was decided, and its caller not told`)
  }

  /** The long window of a counter: the sum of what was told to callers, which is not known better than this. */
  #sum(name: CounterName): void {
    const { longWindow, stored } = this.#options
    const used = stored.counter(name, this.#lastSeen.values).find(({ seconds }) => seconds === longWindow)?.used ?? 0
    const isIn = (story: Story): boolean =>
      (story.order.limits[name.scope] ?? []).some(({ window }) => window.seconds === longWindow) &&
      payerOf(story, name.scope) === null
    this.#mustBeTold(name, longWindow, used, isIn)
  }

  /** What was taken from a grant, in whatever category its requests were. */
  #sumOfGrant(name: CounterName): void {
    const { scope, id } = name
    if (scope === 'global') return
    const { values } = this.#lastSeen
    const { stored } = this.#options
    const runs = [...stored.counter(name, values), ...stored.history(name, values)]
    const used = runs.reduce((sum, run) => sum + run.used, 0)
    const isIn = (story: Story): boolean => accountOf(payerOf(story, scope)?.id ?? '') === name.category
    const [story] = [...this.#stories.values()].filter(isIn)
    if (story === undefined) {
      if (used > 0) this.#world.fail(`${used} were taken from grant ${name.category} of ${id}, which has paid nothing`)
      return
    }
    const window = payerOf(story, scope)?.window.seconds ?? 0
    this.#mustBeTold({ ...name, category: story.order.category }, window, used, isIn)
  }

  /** All days of the books together: the same, whatever windows there were. */
  #sumOfBooks(name: CounterName): void {
    const { values } = this.#lastSeen
    const { stored } = this.#options
    const runs = [...stored.counter(name, values), ...stored.history(name, values)]
    const used = runs.filter(({ seconds }) => seconds === BOOK_SECONDS).reduce((sum, run) => sum + run.used, 0)
    this.count.booked += used
    this.#mustBeTold(name, BOOK_SECONDS, used, ({ order: { limits } }) => limits.books !== undefined)
  }

  /** @param isIn whether an order counts in the window */
  #mustBeTold(name: CounterName, window: number, used: number, isIn: (story: Story) => boolean): void {
    let [least, most] = this.#backOfDebts(name, window)
    const terms: string[] = []
    for (const story of this.#stories.values()) {
      const { user, organisation, category, cost } = story.order
      const id = { personal: user, organisation, global: '' }[name.scope]
      if (category !== name.category || id !== name.id || !isIn(story)) continue
      const [low, high] = this.#counted(story)
      least += low
      most += high
      if (high > 0 || story.local !== null) terms.push(`${describe(story)}: ${low} to ${high} of ${cost}`)
    }
    if (used < least - (this.#unadded.get(window) ?? 0) || used > most + (this.#unsure.get(window) ?? 0)) {
      for (const term of terms) this.#world.tell(term)
      this.#world.fail(`${show(name)} holds ${used} in ${window}s, and ${least} to ${most} were told`)
    }
  }

  /** The stories of all meters of an order. */
  #meters(id: number): Story[] {
    const all: Story[] = []
    for (let story = this.#stories.get(id); story !== undefined; story = this.#stories.get(meterId(id, all.length))) {
      all.push(story)
    }
    return all
  }

  #story(id: number): Story {
    const story = this.#stories.get(id)
    if (story === undefined) throw new Error(`nobody asked for charge ${id}`)
    return story
  }
}

function describe({ order, gateway, response, batch, decided, refundAsked, refunded }: Story): string {
  const there = decided === null ? 'not decided' : `${decided.accepted ? 'accepted' : 'refused'} in batch ${batch}`
  const back = (refundAsked ?? refunded) ? `, refund of ${refundAsked} asked, of ${refunded} made` : ''
  return `${gateway.instance} (${gateway.ended}) charge ${order.id}: told ${response}, ${there}${back}`
}

function heldOf({ batch, decided, payer, refunded, refundedBy }: Held): Held {
  return { batch, decided, payer, refunded, refundedBy }
}

/** The grant that has paid instead of the windows of a scope; `null` for none. */
function payerOf({ decided }: Story, scope: ScopeName): Grant | null {
  return decided?.accepted && scope !== 'global' ? (decided.paidBy?.[scope]?.grant ?? null) : null
}

function isTold({ response }: Story): boolean {
  return response === 'accepted' || response === 'alone'
}

/** Start of the local run of a window that a charge was admitted in. */
function startOf({ order, local }: Story, scope: ScopeName, seconds: number): number | undefined {
  const i = order.limits[scope]?.findIndex(({ window }) => window.seconds === seconds) ?? -1
  return local?.[scope]?.[i]?.startedAt
}

function startsWith(reply: Buffer, text: string): boolean {
  return reply.toString('latin1', 0, text.length) === text
}

function isOutside(reply: Buffer): boolean {
  return reply.toString('latin1', 1, 40).includes('CALENDAR ')
}

function nameOf({ instance, sequence }: Batch): string {
  return `batch ${sequence} of ${instance}`
}

/** By their windows and starts: one may have had its start before, when a clock was set back. */
function sums(runs: Runs): string[] {
  const found = new Map<string, number>()
  for (const { seconds, startedAt, used } of runs) {
    const name = `${seconds}s from ${startedAt}`
    if (used > 0) found.set(name, (found.get(name) ?? 0) + used)
  }
  return [...found].map(([name, used]) => `${name}: ${used}`).sort()
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function show(value: unknown): string {
  return JSON.stringify(value)
}

function refill<K, V>(map: Map<K, V>, entries: Iterable<readonly [K, V]>): void {
  map.clear()
  for (const [key, value] of entries) map.set(key, value)
}

function getOrSet<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
