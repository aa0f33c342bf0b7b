import { firstAndOthers } from '../lib/first-and-others.ts'
import { bookLimit, isBook } from './books.ts'
import { type AheadListener, type Counter, put, takeBack, usageToCharge } from './counter.ts'
import { accountOf, type Grant, type Grants, type PaidByGrant, type PaidByGrants, pays } from './grant.ts'
import type { HistoryScope } from './history-store.ts'
import type { ChargedRun, Once, Onces, Receipt, Report } from './once.ts'
import { type Limit, startOf, type Usage, type Window } from './window.ts'

/** The limits of one user in one category, each list shortest window first. */
export interface Limits {
  readonly personal: readonly Limit[]
  /** `null` if the user belongs to no organisation, or to one that has no limits here. */
  readonly organisation: readonly Limit[] | null
  /** `null` if the global scope does not apply: it is switched off or has no limit, or the user bypasses it. */
  readonly global: readonly Limit[] | null
  /**
   * The window of the books. What the user and the organisation use is counted in it too, without a limit. Absent if no days are kept.
   */
  readonly books?: Window
  /** What pays where the windows of a scope have no room. Absent for callers to whom nobody has given any. */
  readonly grants?: Grants
}

/** What a charge asks of one category. */
export interface Meter {
  /** The verified user id: a well-formed string of any content. Stores must keep two different ids apart. */
  readonly user: string
  /** The organisation of the user, of any content as well; `null` for none. No user id is the same as one of these. */
  readonly organisation: string | null
  readonly category: string
  /** Whole tokens, at least 1. */
  readonly cost: number
  readonly limits: Limits
}

/** A request for tokens: all that its meters ask for, or nothing. It is its own first meter. */
export interface Charge extends Meter {
  /**
   * Its further meters, at most three, each of a category of its own and of the same user. Default none, as nearly every charge, which then costs
   * nothing for what others may have.
   */
  readonly others?: readonly Meter[]
  /**
   * Accepted whatever the limits say, so all its windows are charged, also above their limits. The tokens were spent
   * already, on local counters while the store was out. The limits then only name the windows, and there may be none in
   * the personal scope. Never with `others`: each meter is owed by itself. Default: not so.
   */
  readonly forced?: true
  /** By what repetitions of the request are known, which are not charged; never with `forced`. Default: each is charged. */
  readonly once?: Once
}

/** The decision on a charge. Refusal is a value, not an error. */
export interface Decision {
  /** Of all its meters. */
  readonly accepted: boolean
  /** The store's time of the decision, in milliseconds since the epoch. */
  readonly at: number
  /** Usage after the decision, one for each of `limits.personal`, in the same order; behind these, of a store, that of the books. */
  readonly personal: readonly Usage[]
  /** The same for `limits.organisation`; `null` if the charge counts in no window of an organisation. */
  readonly organisation: readonly Usage[] | null
  /** The same for `limits.global`; `null` if that is `null`. */
  readonly global: readonly Usage[] | null
  /**
   * Which grants have paid instead of the windows of a scope. `personal` and `organisation` have then what was used in windows that are not
   * charged. Missing where none has.
   */
  readonly paidBy?: PaidByGrants
  /** The same for each of the charge's `others`, in their order. Missing where it has none. */
  readonly others?: readonly Decision[]
  /** The limits that decided the charge, if they are not its own: the share that may be used while the store is out. */
  readonly limits?: Limits
  /**
   * What the key of the charge made of it, if the store was asked for that. Missing too for a charge that no repetition is
   * known of later.
   */
  readonly once?: OnceDecision
  /** The batch by which a ledger has settled it. Default: none has, as a decision on local counters. */
  batch?: number | undefined
  /** What was made of a refusal for whoever asks, kept here because the same refusal is given again for a while. Default nothing. */
  memo?: object | undefined
}

export type OnceDecision =
  /** Charged at `since`, and remembered. */
  | { readonly kind: 'charged'; readonly since: number }
  /** Accepted as a repetition of such a charge, and not charged. `receipt`: where the charge was counted. */
  | { readonly kind: 'replayed'; readonly since: number; readonly receipt: Receipt }
  /** Not accepted: the key is that of a request with another body. */
  | { readonly kind: 'reused' }

/** A charge that was accepted, to be given back, or of which another amount turned out to be right. */
export interface Refund {
  readonly charge: Charge
  /** The decision that accepted it: it names the runs of the windows that were charged. */
  readonly decision: Decision
  /** Which of its meters: 0 is the charge itself, 1 the first of its `others`. Each is given back by itself. Default 0. */
  readonly meter?: number
  /**
   * Whole tokens to give back; below 0, to charge in addition, whatever the limits say. Default the cost, of a request that certainly
   * reached nobody.
   */
  readonly amount?: number
  /**
   * Hears once how much was given back, when the store has done it. Of a charge with a key the other requests of the key decide, too. A
   * refund that is lost is never heard of. Default nobody.
   */
  readonly onMade?: (amount: number) => void
}

/** The tokens that a refund gives back. */
export function amountOf(refund: Refund): number {
  return refund.amount ?? refundedMeter(refund).charge.cost
}

/** The meter that a refund is of, as a charge of it alone, and what was decided on that. */
export function refundedMeter({ charge, decision, meter = 0 }: Refund): { charge: Meter; decision: Decision } {
  if (meter === 0) return { charge, decision }
  const [of, decided] = [charge.others?.[meter - 1], decision.others?.[meter - 1]]
  if (of === undefined || decided === undefined) throw new Error(`a charge has no meter ${meter}`)
  return { charge: of, decision: decided }
}

/** The tokens that a charge asks for, of all its meters. */
export function tokensOf({ cost, others }: Charge): number {
  return others === undefined ? cost : others.reduce((sum, meter) => sum + meter.cost, cost)
}

/** Each meter of a charge, as a charge of it alone. */
export function metersOf(charge: Charge): readonly Charge[] {
  if (charge.others === undefined) return [charge]
  const { user, organisation, category, cost, limits } = charge
  return [{ user, organisation, category, cost, limits }, ...charge.others]
}

/** What was decided on each meter of a charge, in their order. */
export function decisionsOf(decision: Decision): readonly Decision[] {
  return firstAndOthers<Decision>(decision)
}

/** Many charges and refunds settled as one, in order, refunds first. */
export interface Batch {
  /** The process that sends it; a random name for each start. */
  readonly instance: string
  /** Counts up by one for each batch of the instance, from 1. */
  readonly sequence: number
  /** The batch of the instance that the store has settled last, as far as its sender knows. Default: none is known of. */
  readonly after?: number
  readonly refunds: readonly Refund[]
  readonly charges: readonly Charge[]
}

type MutableUsage = { -readonly [K in keyof Usage]: Usage[K] }

/** For whom a window counts, in the order in which scopes are named everywhere. */
export const SCOPE_NAMES = ['personal', 'organisation', 'global'] as const
export type ScopeName = (typeof SCOPE_NAMES)[number]

/**
 * Finds the counter of a user or an organisation, by its id, or of everybody, in a category. The same arguments give the
 * same object within a batch.
 */
export type CounterOf = (scope: ScopeName, id: string, category: string) => Counter

/** Takes an amount back from a run that is in the history of its owner, or adds one that is below 0. */
export type TakeBackEnded = (
  scope: HistoryScope,
  id: string,
  category: string,
  seconds: number,
  amount: number,
  startedAt: number,
) => void

/** The id of everybody. */
export const EVERYBODY = ''

const NO_LIMITS: readonly Limit[] = []

/** The windows that a charge counts in, by scope: those of its limits, and that of the books. A scope that does not apply has none. */
export type Counted = Readonly<Record<ScopeName, readonly Limit[]>>

const withOrganisation = new WeakMap<Limits, Counted>()
const withoutOrganisation = new WeakMap<Limits, Counted>()

/** The same object for the same limits: a batch sends each list once. */
export function countedIn({ organisation, limits }: Pick<Meter, 'organisation' | 'limits'>): Counted {
  const known = organisation === null ? withoutOrganisation : withOrganisation
  let counted = known.get(limits)
  if (counted === undefined) {
    const { personal, organisation: theirs, global, books } = limits
    const book = books === undefined ? NO_LIMITS : [bookLimit(books)]
    counted = {
      personal: [...personal, ...book],
      organisation: organisation === null ? NO_LIMITS : [...(theirs ?? NO_LIMITS), ...book],
      global: global ?? NO_LIMITS,
    }
    known.set(limits, counted)
  }
  return counted
}

/**
 * Decides a batch: the one arithmetic that every store obeys. It changes the counters that `counterOf` hands out. A
 * refused charge changes nothing but starts that lie in the future.
 * @param onAhead hears of each such start
 * @param onces the keys of charges. Default none: each repetition is charged
 * @param takeBackEnded for runs that no counter holds. Default: what is given back of these is forgotten
 */
export function settleBatch(
  batch: Pick<Batch, 'refunds' | 'charges'>,
  counterOf: CounterOf,
  now: number,
  onAhead: AheadListener = () => {},
  onces: Onces | null = null,
  takeBackEnded: TakeBackEnded = () => {},
): Decision[] {
  for (const refund of batch.refunds) giveBack(refund, amountMade(refund, onces), counterOf, takeBackEnded)
  const decisions: Decision[] = []
  for (const charge of batch.charges) {
    decisions.push(
      onces === null ? decide(charge, counterOf, now, onAhead) : decideOnce(charge, onces, counterOf, now, onAhead),
    )
  }
  return decisions
}

/** Neither a repetition nor a request whose key is that of another changes what was used. */
function decideOnce(charge: Charge, onces: Onces, counterOf: CounterOf, now: number, onAhead: AheadListener): Decision {
  const { once } = charge
  if (once === undefined) return decide(charge, counterOf, now, onAhead)
  const judged = onces.judge(once, now, once.isOneUse ? 0 : metersOf(charge).length)
  if (judged.kind === 'replayed' || judged.kind === 'reused') {
    const accepted = judged.kind === 'replayed'
    const decision = decide(charge, counterOf, now, onAhead, false)
    const others = decision.others?.map((each) => ({ ...each, accepted }))
    return { ...decision, accepted, ...(others !== undefined && { others }), once: judged }
  }
  const decision = decide(charge, counterOf, now, onAhead)
  if (!decision.accepted || judged.kind === 'spent') return decision
  onces.keep(once, costsOf(charge), now, receiptOf(charge, decision))
  return { ...decision, once: { kind: 'charged', since: now } }
}

function decide(charge: Charge, counterOf: CounterOf, now: number, onAhead: AheadListener, mayCharge = true): Decision {
  return charge.others === undefined
    ? decideMeter(charge, counterOf, now, onAhead, mayCharge)
    : decideAll(charge, counterOf, now, onAhead, mayCharge)
}

/** All meters are looked at before the first is charged, so that what is refused starts no window. */
function decideAll(
  charge: Charge,
  counterOf: CounterOf,
  now: number,
  onAhead: AheadListener,
  mayCharge: boolean,
): Decision {
  const meters = metersOf(charge)
  const looks = meters.map((meter) => decideMeter(meter, counterOf, now, onAhead, false))
  const accepted = mayCharge && meters.every((meter, i) => hasRoom(meter, looks[i] as Decision))
  const decisions = accepted ? meters.map((meter) => decideMeter(meter, counterOf, now, onAhead, true)) : looks
  const [first, ...others] = decisions as [Decision, ...Decision[]]
  return { ...first, others }
}

function hasRoom(meter: Meter, { personal, organisation, global, paidBy }: Decision): boolean {
  const limits = countedIn(meter)
  return (
    (hasPayer(paidBy, 'personal') || fits(personal, limits.personal, meter.cost)) &&
    (hasPayer(paidBy, 'organisation') || fits(organisation ?? [], limits.organisation, meter.cost)) &&
    fits(global ?? [], limits.global, meter.cost)
  )
}

/** Whether a grant pays instead of the windows of a scope. */
export function hasPayer(paidBy: PaidByGrants | undefined, scope: ScopeName): boolean {
  return paidBy !== undefined && scope !== 'global' && paidBy[scope] !== null
}

function decideMeter(
  charge: Charge,
  counterOf: CounterOf,
  now: number,
  onAhead: AheadListener,
  mayCharge: boolean,
): Decision {
  const { user, organisation, category, cost, forced } = charge
  const { grants } = charge.limits
  if (grants !== undefined && forced !== true) return decideGranted(charge, grants, counterOf, now, onAhead, mayCharge)
  const limits = countedIn(charge)
  const own = counterOf('personal', user, category)
  const theirs = limits.organisation.length === 0 ? NO_COUNTER : counterOf('organisation', organisation ?? '', category)
  const all = limits.global.length === 0 ? NO_COUNTER : counterOf('global', EVERYBODY, category)
  const personal = usagesOf(own, limits.personal, now, onAhead)
  const their = usagesOf(theirs, limits.organisation, now, onAhead)
  const global = usagesOf(all, limits.global, now, onAhead)
  const fitsAll =
    fits(personal, limits.personal, cost) && fits(their, limits.organisation, cost) && fits(global, limits.global, cost)
  const accepted = mayCharge && (forced === true || fitsAll)
  if (accepted) {
    add(cost, own, personal, limits.personal, now)
    add(cost, theirs, their, limits.organisation, now)
    add(cost, all, global, limits.global, now)
  }
  return {
    accepted,
    at: now,
    personal,
    organisation: theirs === NO_COUNTER ? null : their,
    global: all === NO_COUNTER ? null : global,
    // The ledger fills it in, and whoever responds the next one: a place that is added later would cost five times as many bytes.
    batch: undefined,
    memo: undefined,
  }
}

/** As `decideMeter`, of a caller with grants. What a grant pays is charged in the books, and in no window that limits. */
function decideGranted(
  charge: Charge,
  grants: Grants,
  counterOf: CounterOf,
  now: number,
  onAhead: AheadListener,
  mayCharge: boolean,
): Decision {
  const { user, organisation, category, cost } = charge
  const counted = countedIn(charge)
  const ids = { personal: user, organisation: organisation ?? '', global: EVERYBODY }
  const look = (scope: ScopeName): Look => {
    const limits = counted[scope]
    const applies = scope === 'personal' || limits.length > 0
    const counter = applies ? counterOf(scope, ids[scope], category) : NO_COUNTER
    const usages = usagesOf(counter, limits, now, onAhead)
    const accounts = limits.length > 0 ? accountsOf(scope, ids[scope], grants, counterOf, now, onAhead) : []
    const payer = fits(usages, limits, cost)
      ? null
      : accounts.find(({ grant, usage }) => pays(grant, usage.used, cost, now))
    return { limits, applies, counter, usages, payer }
  }
  const [personal, their, global] = [look('personal'), look('organisation'), look('global')]
  const looks = [personal, their, global]
  const accepted = mayCharge && looks.every(({ payer }) => payer !== undefined)
  for (const { limits, counter, usages, payer } of accepted ? looks : []) {
    add(cost, counter, usages, limits, now, payer ? firstPaidBeside(limits) : 0)
    if (payer) add(cost, payer.counter, [payer.usage], [payer.grant], now)
  }
  const paidBy = { personal: paidOf(personal), organisation: paidOf(their) }
  return {
    accepted,
    at: now,
    personal: personal.usages,
    organisation: their.applies ? their.usages : null,
    global: global.applies ? global.usages : null,
    ...((paidBy.personal !== null || paidBy.organisation !== null) && { paidBy }),
    batch: undefined,
    memo: undefined,
  }
}

/** What was found of a scope. `payer`: `null` where the windows have room, `undefined` where nothing pays. */
interface Look {
  readonly limits: readonly Limit[]
  readonly applies: boolean
  readonly counter: Counter
  readonly usages: MutableUsage[]
  readonly payer: Account | null | undefined
}

/** A grant with its counter. */
interface Account {
  readonly grant: Grant
  readonly counter: Counter
  readonly usage: MutableUsage
}

/** All of them are looked at, so that each store sets the same starts right. */
function accountsOf(
  scope: ScopeName,
  id: string,
  grants: Grants,
  counterOf: CounterOf,
  now: number,
  onAhead: AheadListener,
): Account[] {
  return grantsIn(grants, scope).map((grant): Account => {
    const counter = counterOf(scope, id, accountOf(grant.id))
    const { startedAt, used } = usageToCharge(counter, grant.window, now, onAhead)
    return { grant, counter, usage: { startedAt, used } }
  })
}

/** Those of a scope, in the order in which they pay. */
export function grantsIn(grants: Grants | undefined, scope: ScopeName): readonly Grant[] {
  return grants === undefined || scope === 'global' ? NO_GRANTS : grants[scope]
}

const NO_GRANTS: readonly Grant[] = []

function paidOf({ payer }: Look): PaidByGrant | null {
  return payer ? { grant: payer.grant, ...payer.usage } : null
}

/** The first of these windows that is charged where a grant pays: that of the books, which is the last. */
export function firstPaidBeside(limits: readonly Limit[]): number {
  const last = limits.at(-1)
  return last !== undefined && isBook(last.window) ? limits.length - 1 : limits.length
}

/** Of a scope that does not apply: nothing is ever put into it. */
const NO_COUNTER: Counter = []

/** A loop, as above, because closures would take a twelfth of the time of a charge. */
function usagesOf(counter: Counter, limits: readonly Limit[], now: number, onAhead: AheadListener): MutableUsage[] {
  // Of its length from the start: one that is pushed into has room for 17.
  const usages = new Array<MutableUsage>(limits.length)
  for (let i = 0; i < limits.length; i++) {
    const { startedAt, used } = usageToCharge(counter, (limits[i] as Limit).window, now, onAhead)
    usages[i] = { startedAt, used }
  }
  return usages
}

function fits(usages: readonly Usage[], limits: readonly Limit[], cost: number): boolean {
  for (let i = 0; i < limits.length; i++) {
    if ((usages[i] as Usage).used + cost > (limits[i] as Limit).limit) return false
  }
  return true
}

/** Adds `cost` to each window from the `first` on, starts those that are not running, and keeps them in the counter. */
function add(
  cost: number,
  counter: Counter,
  usages: MutableUsage[],
  limits: readonly Limit[],
  now: number,
  first = 0,
): void {
  for (let i = first; i < limits.length; i++) {
    const usage = usages[i] as MutableUsage
    usage.startedAt = startOf(usage, now)
    usage.used += cost
    put(counter, (limits[i] as Limit).window.seconds, usage)
  }
}

/** By how much a refund changes what was charged: of a request with a key by what the others of the key cost. */
function amountMade(refund: Refund, onces: Onces | null): number {
  const report = onces === null ? null : reportOf(refund)
  return report === null || onces === null ? amountOf(refund) : onces.report(report)
}

function costsOf({ cost, others = [] }: Charge): number[] {
  return [cost, ...others.map((meter) => meter.cost)]
}

/** What a refund says of a request with a key; `null` for any other. */
export function reportOf(refund: Refund): Report | null {
  const { charge, decision, meter = 0, amount } = refund
  const { once } = decision
  if (charge.once === undefined || once === undefined || once.kind === 'reused') return null
  const reserve = refundedMeter(refund).charge.cost
  const cost = reserve - amountOf(refund)
  const isFirst = once.kind === 'charged'
  return {
    once: charge.once,
    meter,
    reserve,
    cost,
    isFirst,
    isUnreached: amount === undefined,
    since: once.since,
  }
}

/** Reports what was made of each refund. @param amounts of those of requests with a key, in their order */
export function reportMade(refunds: readonly Refund[], amounts: readonly number[]): void {
  let next = 0
  for (const refund of refunds) {
    const amount = reportOf(refund) === null ? amountOf(refund) : (amounts[next++] ?? 0)
    refund.onMade?.(amount)
  }
}

function giveBack(refund: Refund, amount: number, counterOf: CounterOf, takeBackEnded: TakeBackEnded): void {
  if (amount === 0) return
  for (const { scope, id, category, runs } of chargedRuns(refund)) {
    const counter = counterOf(scope, id, category)
    for (const { seconds, startedAt } of runs) {
      if (!takeBack(counter, seconds, amount, startedAt) && scope !== 'global') {
        takeBackEnded(scope, id, category, seconds, amount, startedAt)
      }
    }
  }
}

/** The runs of one owner that a charge was counted in. */
interface ChargedRuns {
  readonly scope: ScopeName
  /** Of the user, or the organisation. */
  readonly id: string
  readonly category: string
  readonly runs: readonly ChargedRun[]
}

/** Where the meter of a refund was counted; of a repetition, where the charge was that it repeats. */
export function chargedRuns(refund: Refund): ChargedRuns[] {
  const { once } = refund.decision
  const { charge, decision } = refundedMeter(refund)
  const receipt = once?.kind === 'replayed' ? meterIn(once.receipt, refund.meter) : receiptOf(charge, decision)
  if (receipt === null) return []
  const { category, organisation, runs } = receipt
  const scopes: ChargedRuns[] = [{ scope: 'personal', id: charge.user, category, runs: ofWindows(runs.personal) }]
  addAccounts(scopes, 'personal', charge.user, runs.personal)
  if (organisation !== null) {
    scopes.push({ scope: 'organisation', id: organisation, category, runs: ofWindows(runs.organisation) })
    addAccounts(scopes, 'organisation', organisation, runs.organisation)
  }
  if (runs.global.length > 0) scopes.push({ scope: 'global', id: EVERYBODY, category, runs: runs.global })
  return scopes
}

function ofWindows(runs: readonly ChargedRun[]): readonly ChargedRun[] {
  return runs.some(({ grant }) => grant !== undefined) ? runs.filter(({ grant }) => grant === undefined) : runs
}

/** Of the grants that have paid. */
function addAccounts(scopes: ChargedRuns[], scope: ScopeName, id: string, runs: readonly ChargedRun[]): void {
  for (const { seconds, startedAt, grant } of runs) {
    if (grant === undefined || startedAt === 0) continue
    scopes.push({ scope, id, category: accountOf(grant), runs: [{ seconds, startedAt }] })
  }
}

/** `null`: the charge had fewer meters than its repetition. */
function meterIn(receipt: Receipt, meter = 0): Receipt | null {
  return meter === 0 ? receipt : (receipt.others?.[meter - 1] ?? null)
}

/** Where an accepted charge was counted. */
export function receiptOf(charge: Charge, decision: Decision): Receipt {
  const { others } = charge
  const receipt = meterReceipt(charge, decision)
  if (others === undefined) return receipt
  return { ...receipt, others: others.map((meter, i) => meterReceipt(meter, decision.others?.[i] as Decision)) }
}

function meterReceipt(charge: Meter, decision: Decision): Receipt {
  const receipt = { category: charge.category, organisation: null as string | null }
  const runs: Record<ScopeName, readonly ChargedRun[]> = { personal: [], organisation: [], global: [] }
  for (const { scope, id, limits, usages } of chargedScopes(charge, decision)) {
    if (scope === 'organisation') receipt.organisation = id
    const payer = scope === 'global' ? null : decision.paidBy?.[scope]
    const first = payer ? firstPaidBeside(limits) : 0
    const own = limits.map(({ window: { seconds } }, i) => ({
      seconds,
      startedAt: i < first ? 0 : (usages[i]?.startedAt ?? 0),
    }))
    runs[scope] = payer ? [...own, runOfGrant(payer.grant, payer.startedAt)] : own
  }
  return { ...receipt, runs }
}

/** @param startedAt 0 for one that has not paid */
function runOfGrant({ id, window: { seconds } }: Grant, startedAt: number): ChargedRun {
  return { grant: id, seconds, startedAt }
}

/** One scope that a charge was decided in. */
interface ChargedScope {
  readonly scope: ScopeName
  /** Of the user, or the organisation. */
  readonly id: string
  readonly limits: readonly Limit[]
  readonly usages: readonly Usage[]
}

/** The scopes that an accepted charge was counted in, with the windows of each. A decision of an outage has no usage of the books. */
export function chargedScopes(charge: Meter, { personal, organisation, global }: Decision): ChargedScope[] {
  const { user, organisation: theirs } = charge
  const limits = countedIn(charge)
  const scopes: ChargedScope[] = [{ scope: 'personal', id: user, limits: limits.personal, usages: personal }]
  if (theirs !== null && limits.organisation.length > 0) {
    scopes.push({ scope: 'organisation', id: theirs, limits: limits.organisation, usages: organisation ?? [] })
  }
  if (limits.global.length > 0 && global !== null) {
    scopes.push({ scope: 'global', id: EVERYBODY, limits: limits.global, usages: global })
  }
  return scopes
}
