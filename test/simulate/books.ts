import { amountOf, type Charge, type Decision, type Refund } from '../../src/quota/charge.ts'
import type { Once } from '../../src/quota/once.ts'
import type { Limit, Usage } from '../../src/quota/window.ts'
import type { EndOf } from './calendars.ts'
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
  /** With which it counts. */
  tokens: number
  replays: number
  /** Requests that it pays for: its own and its repetitions, less those that were given back. */
  uses: number
  /** What the dearest of those that were given back cost. */
  dearest: number
}

/** How long a store keeps a charge beyond the time of its repetitions: in milliseconds. */
const LINGER_MS = 60_000

/**
 * The arithmetic of the contract once more, as plainly as possible and independent of the code that it checks: the last run
 * of every window, and what was used in it; of whoever has a history, all runs before it.
 */
export class Books {
  readonly #counters = new Map<string, Run[]>()
  readonly #earlier = new Map<string, Run[]>()
  readonly #paid = new Map<string, Paid>()
  readonly #endOf: EndOf
  readonly #keeps: Keeps

  constructor(endOf: EndOf, keeps: Keeps) {
    this.#endOf = endOf
    this.#keeps = keeps
  }

  /** The charge that is remembered by a key. */
  paid(key: string): Paid | undefined {
    return this.#paid.get(key)
  }

  charge(charge: Charge, at: number): Decision {
    const { once } = charge
    const known = once && this.#paid.get(once.key)
    if (once === undefined) return this.#charge(charge, at)
    if (known === undefined || at - known.since >= once.forMs) {
      const decision = this.#charge(charge, at)
      if (!decision.accepted) return decision
      const ends = endsOf({ since: at }, once)
      this.#paid.set(once.key, {
        body: once.body,
        since: at,
        ends,
        tokens: charge.cost,
        replays: 0,
        uses: 1,
        dearest: 0,
      })
      return { ...decision, once: { kind: 'charged', since: at } }
    }
    if (known.body !== once.body) return { ...this.#charge(charge, at, false), once: { kind: 'reused' } }
    if (known.replays >= once.replays) return this.#charge(charge, at)
    known.replays++
    known.uses++
    known.ends = endsOf(known, once)
    return { ...this.#charge(charge, at, false), accepted: true, once: { kind: 'replayed', since: known.since } }
  }

  #charge(charge: Charge, at: number, mayCharge = true): Decision {
    const { cost, forced } = charge
    const windows = windowsOf(charge)
    for (const { name, window } of windows) this.#pullBack(name, window.seconds, at)
    const fits = windows.every(({ name, window, limit }) => this.#usage(name, window.seconds, at).used + cost <= limit)
    const accepted = mayCharge && (fits || forced === true)
    if (accepted) for (const { name, window } of windows) this.#runAt(name, window.seconds, at).used += cost
    const of = (scope: CounterName['scope']): Usage[] =>
      windows
        .filter(({ name }) => name.scope === scope)
        .map(({ name, window }) => this.#usage(name, window.seconds, at))
    return {
      accepted,
      at,
      personal: of('personal'),
      organisation: hasOrganisation(charge) ? of('organisation') : null,
      global: charge.limits.global === null ? null : of('global'),
    }
  }

  /**
   * Takes an amount out of the runs that a decision names, as far as they run, or are kept, and have not been set to another
   * start since.
   * @returns whether it was taken out of all of them that last for so many seconds; nothing is while others use its key, and then
   *   no more than the dearest of them left
   */
  giveBack(refund: Refund, at: number, seconds: number): { of: 'whole' | 'part' | 'nothing'; amount: number } {
    const { personal, organisation, global, once } = refund.decision
    const amount = this.#amountMade(refund)
    if (amount === null) return { of: 'nothing', amount: 0 }
    const usages = [...personal, ...(organisation ?? []), ...(global ?? [])]
    // A run that began after the charge was not charged.
    const latest = once?.kind === 'replayed' ? once.since : Number.POSITIVE_INFINITY
    let isWhole = true
    windowsOf(refund.charge).forEach(({ name, window }, i) => {
      const run = this.#within(name, at).find(
        (each) => each.seconds === window.seconds && each.startedAt === usages[i]?.startedAt,
      )
      if (run !== undefined && run.startedAt <= latest) run.used = Math.max(0, run.used - amount)
      else if (window.seconds === seconds) isWhole = false
    })
    return { of: isWhole ? 'whole' : 'part', amount }
  }

  /** What one of its requests used stays charged, and a repetition charges nothing in addition. */
  #amountMade(refund: Refund): number | null {
    const { charge, decision } = refund
    const { once } = charge
    const amount = amountOf(refund)
    if (once === undefined || decision.once === undefined) return amount
    const own = decision.once.kind === 'charged' ? amount : null
    const paid = this.#paid.get(once.key)
    if (amount <= 0 || decision.once.kind === 'reused' || paid?.since !== decision.once.since) return own
    paid.ends = endsOf(paid, once)
    paid.dearest = Math.max(paid.dearest, charge.cost - amount)
    if (--paid.uses > 0) return null
    this.#paid.delete(once.key)
    return charge.cost - paid.dearest
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
        if (!run.isPerhapsGone || at >= this.#ends(run)) return true
        run.isPerhapsGone = false
        if (holds(name, run)) return true
        this.#ended(name, run)
        return false
      })
      for (const run of known) if (at >= this.#ends(run)) run.isPerhapsGone = true
      this.#counters.set(key, known)
    }
  }

  running(name: CounterName, at: number): Run[] {
    return this.#all(name).filter((run) => at < this.#ends(run))
  }

  /** All runs of a counter that has a history, in which something is used. */
  used(name: CounterName): Runs {
    return [...this.#before(name), ...this.#all(name)].filter(({ used }) => used > 0)
  }

  /** When the next run of a window ends, of those that run. */
  nextEnd(at: number): number {
    const ends = [...this.#counters.values()].flat().map((run) => this.#ends(run))
    return Math.min(...ends.filter((end) => at < end))
  }

  #ends({ seconds, startedAt }: Run): number {
    return this.#endOf(seconds, startedAt)
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
    if (known !== -1 && at < this.#ends(all[known] as Run)) return all[known] as Run
    const run = { seconds, startedAt: at, used: 0, isPerhapsGone: false }
    if (known === -1) all.push(run)
    else {
      this.#ended(name, all[known] as Run)
      all[known] = run
    }
    return run
  }
}

function hasOrganisation({ organisation, limits }: Charge): boolean {
  return organisation !== null && limits.organisation !== null
}

/** The windows that a charge is decided in, Personal first, then Organisation, then Global. */
function windowsOf(charge: Charge): (Limit & { readonly name: CounterName })[] {
  const { user, organisation, category, limits } = charge
  const of = (list: readonly Limit[] | null, scope: CounterName['scope'], id: string) =>
    (list ?? []).map((limit) => ({ ...limit, name: { scope, id, category } }))
  return [
    ...of(limits.personal, 'personal', user),
    ...of(hasOrganisation(charge) ? limits.organisation : null, 'organisation', organisation ?? ''),
    ...of(limits.global, 'global', ''),
  ]
}

function endsOf({ since }: Pick<Paid, 'since'>, { forMs }: Once): number {
  return since + forMs + LINGER_MS
}

/** A store holds a run of a calendar for as long as any of its periods lasts. A clock that is set back finds it again. */
function isKept({ startedAt, seconds }: Run, at: number): boolean {
  return at < startedAt + seconds * 1000
}
