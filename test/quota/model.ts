/// <reference lib="esnext.temporal" />
import type { Charge, Decision, Limits, OnceDecision } from '../../src/quota/charge.ts'
import type { Receipt } from '../../src/quota/once.ts'
import type { Usage } from '../../src/quota/window.ts'

/** The run of a window that was charged last. */
interface Run {
  startedAt: number
  readonly costs: Map<number, number>
  /** The clock has been past its end since: a store may have forgotten it, and a clock that is set back may find it again. */
  isPerhapsGone: boolean
}

/** A charge that is known by a key, and what repeated it. */
interface Known {
  readonly body: string
  readonly since: number
  /** From when its time counts: a start in the future becomes now. */
  start: number
  readonly receipt: Receipt
  replays: number
  readonly meters: readonly KnownMeter[]
}

/** One meter of a charge that is known by a key. */
interface KnownMeter {
  readonly number: number
  /** The numbers of the charge and its repetitions whose cost is not known. */
  readonly open: Set<number>
  /** What each of the others cost. */
  readonly costs: number[]
  /** With which it counts. */
  paid: number
}

/** A meter of a charge by a key, or of a repetition of one. */
interface Use {
  readonly key: string
  readonly meter: number
  readonly cost: number
  readonly since: number
  readonly isFirst: boolean
}

interface Named {
  readonly of: string
  readonly seconds: number
  readonly limit: number
  /** The grant that it is, and the moment at which that ends. */
  readonly grant?: { readonly id: string; readonly until: number }
}

/** The windows of a meter in one scope, and the grants that may pay in their place, in their order. */
interface Scoped {
  readonly windows: readonly Named[]
  readonly grants: readonly Named[]
}

/** A run that a charge counts in. No run: a window in whose place a grant paid. */
interface Counted {
  readonly scope: number
  readonly run: Run | null
  readonly startedAt: number
  readonly seconds: number
  readonly grant: string | undefined
}

/**
 * The contract's rules written down a second time, as plainly as possible: it remembers every accepted charge of a run and
 * adds them up anew for each question. Slow, and independent of the arithmetic it checks.
 */
export class Model {
  readonly #runs = new Map<string, Run>()
  /** By meter of a charge: the runs that it counts in, and when they began by the clock of that moment. */
  readonly #charged = new Map<number, Counted[]>()
  readonly #known = new Map<string, Known>()
  /** By meter of a charge or a repetition. */
  readonly #uses = new Map<number, Use>()
  /** By meter of a charge, as it was asked for. */
  readonly #costs = new Map<number, number>()
  #charges = 0

  /** The clock may move in both directions. */
  passTo(now: number): void {
    for (const [key, run] of this.#runs) if (now >= endOf(secondsOf(key), run.startedAt)) run.isPerhapsGone = true
  }

  /**
   * Decides a charge at a time; each meter of an accepted one gets a number by which it can be given back.
   * @param seen what a store decided: it shows whether a run is gone that may be
   */
  charge(charge: Charge, now: number, seen: Decision): { decision: Decision; numbers: readonly number[] } {
    const meters = [charge, ...(charge.others ?? [])]
    const numbers = meters.map(({ cost }) => {
      this.#costs.set(++this.#charges, cost)
      return this.#charges
    })
    const repeated = this.#repeat(charge, numbers, now)
    const scopes = meters.map(scopesOf)
    for (const [m, meter] of meters.entries()) {
      const cost = seen.accepted && repeated === null ? meter.cost : 0
      this.#settleAll(scopes[m] as Scoped[], now, [seen, ...(seen.others ?? [])][m] as Decision, cost)
    }
    const payers = meters.map((meter, m) =>
      (scopes[m] as Scoped[]).map((scope) => this.#payerOf(scope, meter.cost, now)),
    )
    const fits = payers.every((all) => all.every((payer) => payer !== undefined))
    const accepted = repeated === null ? fits || charge.forced === true : repeated.kind === 'replayed'
    if (accepted && repeated === null) {
      for (const [m, meter] of meters.entries()) {
        this.#count(numbers[m] as number, meter.cost, scopes[m] as Scoped[], payers[m] as Named[], now)
      }
    }
    const once = repeated ?? (accepted ? this.#remember(charge, numbers, now) : undefined)
    const [first, ...others] = meters.map((_, m) =>
      this.#decision(scopes[m] as Scoped[], payers[m] as Named[], accepted, now, meters[m] as Charge),
    ) as [Decision, ...Decision[]]
    const decision = charge.others === undefined ? first : { ...first, others }
    return { decision: once === undefined ? decision : { ...decision, once }, numbers }
  }

  /** The grant that pays in the place of windows without room; `null` where they have room, `undefined` where nothing pays. */
  #payerOf({ windows, grants }: Scoped, cost: number, now: number): Named | null | undefined {
    const fits = (window: Named): boolean => this.#usage(window, now).used + cost <= window.limit
    if (windows.every(fits)) return null
    return grants.find((grant) => now < (grant.grant?.until ?? 0) && fits(grant))
  }

  #decision(
    scopes: readonly Scoped[],
    payers: readonly (Named | null | undefined)[],
    accepted: boolean,
    now: number,
    meter: Charge,
  ): Decision {
    const [personal, theirs, global] = scopes.map(({ windows }) => windows.map((window) => this.#usage(window, now)))
    const [own, their] = [0, 1].map((scope) => {
      const { payer, grants } = { payer: payers[scope], grants: meter.limits.grants }
      const id = payer?.grant?.id
      const grant = [...(grants?.personal ?? []), ...(grants?.organisation ?? [])].find((each) => each.id === id)
      return payer && grant ? { grant, ...this.#usage(payer, now) } : null
    })
    return {
      accepted,
      at: now,
      personal: personal ?? [],
      organisation: theirs?.length === 0 ? null : (theirs ?? null),
      global: meter.limits.global === null ? null : (global ?? null),
      ...((own || their) && { paidBy: { personal: own ?? null, organisation: their ?? null } }),
    }
  }

  /**
   * Lets a meter of a charge count with another cost in the runs that still are what they were at the charge. All requests of a key together cost
   * what the dearest of them did, and what is not known yet counts as before.
   * @param isUnreached whether it reached nobody: then it was no repetition
   */
  refund(number: number, cost: number, now: number, isUnreached = false): void {
    const use = this.#uses.get(number)
    const known = use && this.#known.get(use.key)
    if (use === undefined || known?.since !== use.since) {
      if (use?.isFirst !== false) this.#correct(number, (use?.cost ?? this.#costs.get(number) ?? 0) - cost, now)
      return
    }
    const meter = known.meters[use.meter]
    // The charge had fewer.
    if (meter === undefined) return
    meter.open.delete(number)
    meter.costs.push(cost)
    if (isUnreached && !use.isFirst && use.meter === 0) known.replays--
    const dearest = Math.max(...meter.costs)
    const before = meter.paid
    meter.paid = meter.open.size === 0 ? dearest : Math.max(before, dearest)
    if (known.meters.every(({ open, costs }) => open.size === 0 && Math.max(...costs) === 0))
      this.#known.delete(use.key)
    this.#correct(meter.number, before - meter.paid, now)
  }

  /** What the key of a charge makes of it; `null` if it is charged as any. */
  #repeat(charge: Charge, numbers: readonly number[], now: number): OnceDecision | null {
    const { once } = charge
    const known = once && this.#known.get(once.key)
    if (known === undefined || once === undefined) return null
    known.start = Math.min(known.start, now)
    if (now - known.start >= once.forMs) return null
    const { since, meters, receipt } = known
    if (known.body !== once.body) return { kind: 'reused' }
    if (known.replays >= once.replays) return null
    known.replays++
    for (const [m, number] of numbers.entries()) meters[m]?.open.add(number)
    this.#note(charge, numbers, { key: once.key, since, isFirst: false })
    return { kind: 'replayed', since, receipt }
  }

  #note(charge: Charge, numbers: readonly number[], of: Omit<Use, 'meter' | 'cost'>): void {
    for (const [meter, { cost }] of [charge, ...(charge.others ?? [])].entries()) {
      this.#uses.set(numbers[meter] as number, { ...of, meter, cost })
    }
  }

  #remember(charge: Charge, numbers: readonly number[], now: number): OnceDecision | undefined {
    const { once } = charge
    const known = once && this.#known.get(once.key)
    if (once === undefined || (known !== undefined && now - known.start < once.forMs)) return undefined
    const all = [charge, ...(charge.others ?? [])]
    const meters = all.map(({ cost }, m): KnownMeter => {
      const number = numbers[m] as number
      return { number, open: new Set([number]), costs: [], paid: cost }
    })
    const [first, ...others] = all.map((meter, m) => this.#receipt(meter, numbers[m] as number)) as [
      Receipt,
      ...Receipt[],
    ]
    const receipt = charge.others === undefined ? first : { ...first, others }
    this.#known.set(once.key, { body: once.body, since: now, start: now, receipt, replays: 0, meters })
    this.#note(charge, numbers, { key: once.key, since: now, isFirst: true })
    return { kind: 'charged', since: now }
  }

  /** Where a charge counts. */
  #receipt(charge: Charge, number: number): Receipt {
    const { category } = charge
    const all = this.#charged.get(number) ?? []
    const of = (scope: number) =>
      all
        .filter((each) => each.scope === scope)
        .map(({ seconds, startedAt, grant }) => ({ ...(grant !== undefined && { grant }), seconds, startedAt }))
    const runs = { personal: of(0), organisation: of(1), global: of(2) }
    return { category, organisation: theirWindows(charge).length === 0 ? null : charge.organisation, runs }
  }

  /** @param back what the charge costs less */
  #correct(number: number, back: number, now: number): void {
    for (const { run, startedAt, seconds } of this.#charged.get(number) ?? []) {
      if (run !== null && run.startedAt === startedAt && now < startedAt + seconds * 1000) {
        run.costs.set(number, (run.costs.get(number) ?? 0) - back)
      }
    }
  }

  /**
   * Windows of everybody in a category are emptied: these, or all that run.
   * @param said what a store says was used in one
   */
  reset(category: string, lengths: readonly number[] | null, now: number, said: (seconds: number) => number): void {
    const of = JSON.stringify([category])
    for (const seconds of lengths ?? lengthsOf(this.#runs, of)) {
      const window = { of, seconds, limit: 0 }
      const run = this.#running(window, now)
      const used = run === undefined ? 0 : sum(run)
      const isGone = run?.isPerhapsGone === true && said(seconds) === 0
      if (said(seconds) !== used && !isGone)
        throw new Error(`${said(seconds)} used in ${seconds}s of ${of}, not ${used}`)
      if (run === undefined) continue
      this.#runs.delete(keyOf(window))
      // What is given back of the emptied run must not get into one that starts at the same moment.
      const isEmptiedNow = run.startedAt === now - 1 && used === 0
      const isYoung = run.startedAt >= now || isEmptiedNow
      // Of a run in which nothing was used the store does not say whether it is gone.
      if (isYoung && !(isGone && used > 0)) this.#begin(window, now - 1).isPerhapsGone = isGone
    }
  }

  /** A charge meets the window: whether it is gone is known from here on, and a start in the future becomes now. */
  #settle(window: Named, now: number, shown: Usage, cost: number): void {
    const run = this.#running(window, now)
    if (run === undefined) return
    const startedAt = Math.min(run.startedAt, now)
    const isShown = shown.startedAt === startedAt && shown.used === sum(run) + cost
    if (run.isPerhapsGone && !isShown) return void this.#runs.delete(keyOf(window))
    run.isPerhapsGone = false
    run.startedAt = startedAt
  }

  #settleAll(scopes: readonly Scoped[], now: number, seen: Decision, cost: number): void {
    const { personal, organisation, global, paidBy } = seen
    const payers = [paidBy?.personal, paidBy?.organisation, undefined]
    ;[personal, organisation ?? [], global ?? []].forEach((shown, scope) => {
      const { windows, grants } = scopes[scope] as Scoped
      const payer = payers[scope]
      windows.forEach((window, i) => {
        const isCharged = !payer || window.limit === Number.POSITIVE_INFINITY
        this.#settle(window, now, shown[i] as Usage, isCharged ? cost : 0)
      })
      // The run of a grant lasts longer than any history, so no store has forgotten it.
      for (const grant of grants) {
        const run = this.#running(grant, now)
        if (run !== undefined) run.startedAt = Math.min(run.startedAt, now)
      }
    })
  }

  #count(
    number: number,
    cost: number,
    scopes: readonly Scoped[],
    payers: readonly (Named | null)[],
    now: number,
  ): void {
    const counted = (scope: number, window: Named): Counted => {
      const run = this.#running(window, now) ?? this.#begin(window, now)
      run.costs.set(number, cost)
      return { scope, run, startedAt: run.startedAt, seconds: window.seconds, grant: window.grant?.id }
    }
    const charged = scopes.flatMap(({ windows }, scope) => {
      const payer = payers[scope]
      if (!payer) return windows.map((window) => counted(scope, window))
      const beside = windows.map((window): Counted => {
        const isBook = window.limit === Number.POSITIVE_INFINITY
        return isBook
          ? counted(scope, window)
          : { scope, run: null, startedAt: 0, seconds: window.seconds, grant: undefined }
      })
      return [...beside, counted(scope, payer)]
    })
    this.#charged.set(number, charged)
  }

  #begin(window: Named, now: number): Run {
    const run = { startedAt: now, costs: new Map<number, number>(), isPerhapsGone: false }
    this.#runs.set(keyOf(window), run)
    return run
  }

  #usage(window: Named, now: number): Usage {
    const run = this.#running(window, now)
    return run === undefined ? { startedAt: 0, used: 0 } : { startedAt: run.startedAt, used: sum(run) }
  }

  #running(window: Named, now: number): Run | undefined {
    const run = this.#runs.get(keyOf(window))
    return run !== undefined && now < endOf(window.seconds, run.startedAt) ? run : undefined
  }
}

type Windows = readonly Pick<Named, 'seconds' | 'limit'>[]

/** @param books of the scopes that have some */
function windowsOf(list: Limits['organisation'], books: Limits['books']): Windows {
  const limited = (list ?? []).map(({ window: { seconds }, limit }) => ({ seconds, limit }))
  return books === undefined ? limited : [...limited, { seconds: books.seconds, limit: Number.POSITIVE_INFINITY }]
}

function ownWindows({ limits }: Charge): Windows {
  return windowsOf(limits.personal, limits.books)
}

/** Of the organisation of the user, if there is one. */
function theirWindows({ organisation, limits }: Charge): Windows {
  return organisation === null ? [] : windowsOf(limits.organisation, limits.books)
}

function scopesOf(charge: Charge): Scoped[] {
  const { user, organisation, category, limits, forced } = charge
  const named = (of: readonly (string | null)[], list: Windows): Named[] =>
    list.map((window) => ({ of: JSON.stringify(of), ...window }))
  const grantsOf = (scope: 'personal' | 'organisation', owner: string | null): Named[] =>
    (forced === true ? [] : (limits.grants?.[scope] ?? [])).map(({ id, until, limit, window: { seconds } }) => ({
      of: JSON.stringify(['grant', scope, owner, id]),
      ...{ seconds, limit, grant: { id, until } },
    }))
  const theirs = named(['organisation', organisation, category], theirWindows(charge))
  return [
    { windows: named([user, category], ownWindows(charge)), grants: grantsOf('personal', user) },
    { windows: theirs, grants: theirs.length > 0 ? grantsOf('organisation', organisation) : [] },
    { windows: named([category], windowsOf(limits.global, undefined)), grants: [] },
  ]
}

function keyOf({ of, seconds }: Named): string {
  return `${seconds} ${of}`
}

function lengthsOf(runs: ReadonlyMap<string, Run>, of: string): number[] {
  return [...runs.keys()].filter((key) => key.endsWith(` ${of}`)).map(secondsOf)
}

/** Calendar windows of the histories, by their seconds. */
export const CALENDARS = new Map([
  [115_201, { unit: 'day', zone: 'Europe/Berlin' }],
  // That of the books.
  [118_800, { unit: 'day', zone: 'Europe/Berlin' }],
  [2_707_201, { unit: 'month', zone: 'Europe/Berlin' }],
] as const)

function endOf(seconds: number, startedAt: number): number {
  const { unit, zone } = CALENDARS.get(seconds as 115_201) ?? {}
  if (zone === undefined) return startedAt + seconds * 1000
  const date = Temporal.Instant.fromEpochMilliseconds(startedAt).toZonedDateTimeISO(zone).toPlainDate()
  const next = unit === 'day' ? date.add({ days: 1 }) : date.with({ day: 1 }).add({ months: 1 })
  return next.toZonedDateTime(zone).epochMilliseconds
}

function secondsOf(key: string): number {
  return Number.parseInt(key, 10)
}

function sum({ costs }: Run): number {
  return [...costs.values()].reduce((total, cost) => total + cost, 0)
}
