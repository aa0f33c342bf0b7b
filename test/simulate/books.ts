import { amountOf, type Charge, type Decision, type Refund } from '../../src/quota/charge.ts'
import { SCOPE_NAMES } from '../../src/quota/charged-scopes.ts'
import { accountOf, type Grant } from '../../src/quota/grant.ts'
import type { ChargedRun, Once, Receipt } from '../../src/quota/once.ts'
import type { Limit, Usage } from '../../src/quota/window.ts'
import type { CounterName, Keeps, Runs } from './stored.ts'

/** The run of a window that was charged last. */
export interface Run {
  readonly seconds: number
  startedAt: number
  used: number
  /** The clock has been past its end since: a store may have forgotten it, and a clock that is set back may find it again. */
  isPerhapsGone: boolean
}

/** A charge that is remembered by a key. */
export interface Paid {
  readonly body: string
  readonly since: number
  /** When a store may forget it. */
  ends: number
  /** From when its time counts. */
  start: number
  /** Where it was counted. */
  readonly receipt: Receipt
  /** Repetitions, less those that reached nobody. */
  replays: number
  readonly meters: readonly PaidMeter[]
}

/** One meter of such a charge. */
export interface PaidMeter {
  /** With which it counts. */
  tokens: number
  /** Requests whose cost is not known: its own and its repetitions. */
  open: number
  /** What the dearest of the others cost. */
  dearest: number
}

/** When a run of a counter ends, in milliseconds since the epoch. */
export type RunEnd = (name: CounterName, seconds: number, startedAt: number) => number

/** How long a store keeps a charge beyond the time of its repetitions: in milliseconds. */
const LINGER_MS = 600_000

/**
 * The arithmetic of the contract once more, as plainly as possible and independent of the code that it checks: the last run
 * of every window, and what was used in it; of whoever has a history, all runs before it.
 */
export class Books {
  readonly #counters = new Map<string, Run[]>()
  readonly #earlier = new Map<string, Run[]>()
  readonly #paid = new Map<string, Paid>()
  readonly #endOf: RunEnd
  readonly #keeps: Keeps

  constructor(endOf: RunEnd, keeps: Keeps) {
    this.#endOf = endOf
    this.#keeps = keeps
  }

  /** Takes all back to what it is now. */
  save(): () => void {
    const [counters, earlier] = [structuredClone(this.#counters), structuredClone(this.#earlier)]
    const paid = [...this.#paid].map(([key, of]) => [key, of, { ...of }, structuredClone(of.meters)] as const)
    return () => {
      refill(this.#counters, structuredClone(counters))
      refill(this.#earlier, structuredClone(earlier))
      for (const [, of, was, meters] of paid) {
        Object.assign(of, was)
        for (const [i, meter] of of.meters.entries()) Object.assign(meter, meters[i])
      }
      refill(this.#paid, new Map(paid.map(([key, of]) => [key, of])))
    }
  }

  /** The charge that is remembered by a key. */
  paid(key: string): Paid | undefined {
    return this.#paid.get(key)
  }

  charge(charge: Charge, at: number): Decision {
    const { once } = charge
    const known = once && this.#paid.get(once.key)
    if (once === undefined) return this.#charge(charge, at)
    if (known !== undefined && known.start > at) {
      known.start = at
      known.ends = endsOf(known, once)
    }
    if (known === undefined || at - known.start >= once.forMs) {
      const decision = this.#charge(charge, at)
      if (!decision.accepted) return decision
      const meters = metersOf(charge).map(({ cost }) => ({ tokens: cost, open: 1, dearest: 0 }))
      const times = { since: at, start: at, ends: endsOf({ start: at }, once) }
      this.#paid.set(once.key, { body: once.body, ...times, replays: 0, meters, receipt: receiptOf(charge, decision) })
      return { ...decision, once: { kind: 'charged', since: at } }
    }
    if (known.body !== once.body) return { ...this.#charge(charge, at, false), once: { kind: 'reused' } }
    if (known.replays >= once.replays) return this.#charge(charge, at)
    known.replays++
    for (const meter of known.meters.slice(0, metersOf(charge).length)) meter.open++
    known.ends = endsOf(known, once)
    const { since, receipt } = known
    const decision = this.#charge(charge, at, false)
    const others = decision.others && { others: decision.others.map((each) => ({ ...each, accepted: true })) }
    return { ...decision, ...others, accepted: true, once: { kind: 'replayed', since, receipt } }
  }

  /** All meters, or none. */
  #charge(charge: Charge, at: number, mayCharge = true): Decision {
    const meters = metersOf(charge)
    for (const meter of meters) {
      for (const { name, window } of windowsOf(meter)) this.#pullBack(name, window.seconds, at)
      for (const scope of SCOPE_NAMES) {
        for (const { name, window } of accountsOf(meter, scope)) this.#pullBack(name, window.seconds, at)
      }
    }
    const payers = meters.map((meter) => SCOPE_NAMES.map((scope) => this.#payerOf(meter, scope, at)))
    const fits = payers.every((all) => all.every((payer) => payer !== undefined))
    const accepted = mayCharge && (fits || charge.forced === true)
    for (const [m, meter] of accepted ? meters.entries() : []) {
      for (const { name, window } of this.#charged(meter, payers[m] ?? [])) {
        this.#runAt(name, window.seconds, at).used += meter.cost
      }
    }
    const [first, ...others] = meters.map((meter, m) => this.#decision(meter, payers[m] ?? [], accepted, at)) as [
      Decision,
      ...Decision[],
    ]
    return charge.others === undefined ? first : { ...first, others }
  }

  /** Of a scope: `null` where its windows have room, the first grant that pays in their place, or `undefined` for none. */
  #payerOf(meter: Charge, scope: CounterName['scope'], at: number): Account | null | undefined {
    const has = ({ name, window, limit }: Counting): boolean =>
      this.#usage(name, window.seconds, at).used + meter.cost <= limit
    if (windowsOf(meter).every((each) => each.name.scope !== scope || has(each))) return null
    return accountsOf(meter, scope).find((account) => at < account.grant.until && has(account))
  }

  /** All windows of scopes with room, of the others that of the books and the grant. */
  #charged(meter: Charge, payers: readonly (Account | null | undefined)[]): Counting[] {
    const paid = (scope: CounterName['scope']) => payers[SCOPE_NAMES.indexOf(scope)]
    const windows = windowsOf(meter).filter(({ name, limit }) => !paid(name.scope) || limit === BOOKS)
    return [...windows, ...payers.flatMap((payer) => payer ?? [])]
  }

  #decision(
    charge: Charge,
    [own, theirs]: readonly (Account | null | undefined)[],
    accepted: boolean,
    at: number,
  ): Decision {
    const windows = windowsOf(charge)
    const paidBy = (account: Account | null | undefined) =>
      account ? { grant: account.grant, ...this.#usage(account.name, account.window.seconds, at) } : null
    const of = (scope: CounterName['scope']): Usage[] =>
      windows
        .filter(({ name }) => name.scope === scope)
        .map(({ name, window }) => this.#usage(name, window.seconds, at))
    return {
      accepted,
      at,
      personal: of('personal'),
      organisation: listsOf(charge).organisation.length > 0 ? of('organisation') : null,
      global: charge.limits.global === null ? null : of('global'),
      ...((own || theirs) && { paidBy: { personal: paidBy(own), organisation: paidBy(theirs) } }),
    }
  }

  /**
   * Takes an amount out of the runs that a decision names, as far as they run, or are kept, and have not been set to another
   * start since.
   * @returns the lengths of windows of which it was not taken out of the run; nothing is while others use its key, and then no more
   *   than the dearest of them left
   */
  giveBack(refund: Refund, at: number): { missed: readonly number[]; amount: number } {
    const amount = this.#amountMade(refund)
    const missed: number[] = []
    if (amount === 0) return { missed, amount }
    for (const { name, startedAt, seconds: length } of countedIn(refund)) {
      const run = this.#within(name, at).find((each) => each.seconds === length && each.startedAt === startedAt)
      if (run !== undefined) run.used = Math.max(0, run.used - amount)
      else missed.push(length)
    }
    return { missed, amount }
  }

  /** All requests of a key together cost what the dearest of them did; what is not known yet counts as before. */
  #amountMade(refund: Refund): number {
    const { charge, decision, meter = 0 } = refund
    const { once } = charge
    const amount = amountOf(refund)
    if (once === undefined || decision.once === undefined) return amount
    if (decision.once.kind === 'reused') return 0
    const isFirst = decision.once.kind === 'charged'
    const paid = this.#paid.get(once.key)
    if (paid?.since !== decision.once.since) return isFirst ? amount : 0
    const of = paid.meters[meter]
    // What it repeats has fewer meters.
    if (of === undefined) return 0
    paid.ends = endsOf(paid, once)
    of.dearest = Math.max(of.dearest, (metersOf(charge)[meter] as Charge).cost - amount)
    if (refund.amount === undefined && !isFirst && meter === 0) paid.replays--
    of.open--
    if (paid.meters.every(({ open, dearest }) => open === 0 && dearest === 0)) this.#paid.delete(once.key)
    return of.tokens - (of.open === 0 ? of.dearest : Math.max(of.tokens, of.dearest))
  }

  /**
   * The clock is at another time.
   * @param holds whether the store still has a run that it may have forgotten
   */
  passTo(at: number, holds: (name: CounterName, run: Run) => boolean): void {
    for (const [key, { ends }] of this.#paid) if (at > ends) this.#paid.delete(key)
    for (const [key, runs] of this.#counters) {
      const [scope, id, category] = JSON.parse(key)
      const name = { scope, id, category }
      const known = runs.filter((run) => {
        if (!run.isPerhapsGone || at >= this.#ends(name, run)) return true
        run.isPerhapsGone = false
        if (holds(name, run)) return true
        this.#ended(name, run)
        return false
      })
      for (const run of known) if (at >= this.#ends(name, run)) run.isPerhapsGone = true
      this.#counters.set(key, known)
    }
  }

  running(name: CounterName, at: number): Run[] {
    return this.#all(name).filter((run) => at < this.#ends(name, run))
  }

  /** All runs of a counter that has a history, in which something is used. */
  used(name: CounterName): Runs {
    return [...this.#before(name), ...this.#all(name)].filter(({ used }) => used > 0)
  }

  /** When the next run of a window ends, of those that run. */
  nextEnd(at: number): number {
    const ends = [...this.#counters].flatMap(([key, runs]) => {
      const [scope, id, category] = JSON.parse(key)
      return runs.map((run) => this.#ends({ scope, id, category }, run))
    })
    return Math.min(...ends.filter((end) => at < end))
  }

  #ends(name: CounterName, { seconds, startedAt }: Run): number {
    return this.#endOf(name, seconds, startedAt)
  }

  #all({ scope, id, category }: CounterName): Run[] {
    const key = JSON.stringify([scope, id, category])
    const known = this.#counters.get(key) ?? []
    this.#counters.set(key, known)
    return known
  }

  #before({ scope, id, category }: CounterName): Run[] {
    return this.#earlier.get(JSON.stringify([scope, id, category])) ?? []
  }

  #ended(name: CounterName, run: Run): void {
    if (!this.#keeps(name)) return
    const { scope, id, category } = name
    this.#earlier.set(JSON.stringify([scope, id, category]), [...this.#before(name), run])
  }

  /** The runs that a refund can reach, the last one of each window first. */
  #within(name: CounterName, at: number): Run[] {
    const all = this.#all(name)
    return this.#keeps(name) ? [...all, ...this.#before(name)] : all.filter((run) => isKept(run, at))
  }

  /** A charge meets a window that started in the future: it counts as started now. */
  #pullBack(name: CounterName, seconds: number, at: number): void {
    const run = this.#all(name).find((each) => each.seconds === seconds)
    if (run !== undefined && run.startedAt > at) run.startedAt = at
  }

  #usage(name: CounterName, seconds: number, at: number): Usage {
    const { startedAt, used } = this.running(name, at).find((run) => run.seconds === seconds) ?? {
      startedAt: 0,
      used: 0,
    }
    return { startedAt, used }
  }

  #runAt(name: CounterName, seconds: number, at: number): Run {
    const all = this.#all(name)
    const known = all.findIndex((run) => run.seconds === seconds)
    if (known !== -1 && at < this.#ends(name, all[known] as Run)) return all[known] as Run
    const run = { seconds, startedAt: at, used: 0, isPerhapsGone: false }
    if (known === -1) all.push(run)
    else {
      this.#ended(name, all[known] as Run)
      all[known] = run
    }
    return run
  }
}

function refill<K, V>(map: Map<K, V>, entries: ReadonlyMap<K, V>): void {
  map.clear()
  for (const [key, value] of entries) map.set(key, value)
}

const BOOKS = Number.POSITIVE_INFINITY

/** Something that a charge may count in. */
type Counting = Limit & { readonly name: CounterName }

/** A grant, with the counter that it is. */
interface Account extends Counting {
  readonly grant: Grant
}

/** The grants that may pay in the place of the windows of a scope, in their order. */
function accountsOf(charge: Charge, scope: CounterName['scope']): Account[] {
  const { user, organisation, limits, forced } = charge
  const isLimited = listsOf(charge)[scope].length > 0
  if (scope === 'global' || forced === true || !isLimited) return []
  const id = scope === 'personal' ? user : (organisation ?? '')
  return (limits.grants?.[scope] ?? []).map((grant) => ({
    ...grant,
    grant,
    name: { scope, id, category: accountOf(grant.id) },
  }))
}

/** The windows that a charge counts in, those of the books last. */
function listsOf({ organisation, limits }: Charge): Readonly<Record<CounterName['scope'], readonly Limit[]>> {
  const { books } = limits
  const book = books === undefined ? [] : [{ window: books, limit: BOOKS }]
  return {
    personal: [...limits.personal, ...book],
    organisation: organisation === null ? [] : [...(limits.organisation ?? []), ...book],
    global: limits.global ?? [],
  }
}

/** The windows that a charge is decided in, Personal first, then Organisation, then Global. */
export function windowsOf(charge: Charge): Counting[] {
  const { user, organisation, category } = charge
  const lists = listsOf(charge)
  const ids = { personal: user, organisation: organisation ?? '', global: '' }
  return SCOPE_NAMES.flatMap((scope) =>
    lists[scope].map((limit) => ({ ...limit, name: { scope, id: ids[scope], category } })),
  )
}

/** Each meter of a charge by itself. */
export function metersOf({ user, organisation, category, cost, limits, others = [], forced }: Charge): Charge[] {
  return [{ user, organisation, category, cost, limits, ...(forced && { forced }) }, ...others]
}

/** Where a charge counts, as a store hands it to its repetitions. */
function receiptOf(charge: Charge, decision: Decision): Receipt {
  const decisions = [decision, ...(decision.others ?? [])]
  const [first, ...others] = metersOf(charge).map((meter, i) => meterReceipt(meter, decisions[i] as Decision)) as [
    Receipt,
    ...Receipt[],
  ]
  return charge.others === undefined ? first : { ...first, others }
}

function meterReceipt(charge: Charge, decision: Decision): Receipt {
  const lists = listsOf(charge)
  const runsOf = (scope: CounterName['scope']): ChargedRun[] => {
    const paid = scope === 'global' ? null : decision.paidBy?.[scope]
    const windows = lists[scope].map(({ window: { seconds }, limit }, i) => {
      return { seconds, startedAt: paid && limit !== BOOKS ? 0 : (decision[scope]?.[i]?.startedAt ?? 0) }
    })
    if (!paid) return windows
    return [...windows, { grant: paid.grant.id, seconds: paid.grant.window.seconds, startedAt: paid.startedAt }]
  }
  const runs = { personal: runsOf('personal'), organisation: runsOf('organisation'), global: runsOf('global') }
  return { category: charge.category, organisation: lists.organisation.length > 0 ? charge.organisation : null, runs }
}

/** The runs that a charge was counted in; of a repetition, those of the charge that it repeats. */
function countedIn({ charge, decision, meter = 0 }: Refund) {
  const whole = decision.once?.kind === 'replayed' ? decision.once.receipt : receiptOf(charge, decision)
  const receipt = [whole, ...(whole.others ?? [])][meter]
  if (receipt === undefined) return []
  const { category, organisation, runs } = receipt
  const ids = { personal: charge.user, organisation: organisation ?? '', global: '' }
  return SCOPE_NAMES.flatMap((scope) => {
    const isPaid = runs[scope].some(({ grant }) => grant !== undefined)
    const counted = runs[scope].filter(({ startedAt }) => !isPaid || startedAt !== 0)
    return counted.map((run) => {
      const of = run.grant === undefined ? category : accountOf(run.grant)
      return { ...run, name: { scope, id: ids[scope], category: of } }
    })
  })
}

function endsOf({ start }: Pick<Paid, 'start'>, { forMs }: Once): number {
  return start + forMs + LINGER_MS
}

/** A store holds a run of a calendar for as long as any of its periods lasts. A clock that is set back finds it again. */
function isKept({ startedAt, seconds }: Run, at: number): boolean {
  return at < startedAt + seconds * 1000
}
