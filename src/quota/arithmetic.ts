import { amountOf, type Batch, type Charge, type Decision, type Meter, metersOf, type Refund } from './charge.ts'
import { countedIn, EVERYBODY, firstPaidBeside, grantsIn, hasPayer, type ScopeName } from './charged-scopes.ts'
import { type AheadListener, type Counter, put, takeBack, usageToCharge } from './counter.ts'
import { accountOf, type Grant, type Grants, type PaidByGrant, pays } from './grant.ts'
import type { HistoryScope } from './history-store.ts'
import type { Onces } from './once.ts'
import { chargedRuns, receiptOf, reportOf } from './receipt.ts'
import { type Limit, startOf, type Usage } from './window.ts'

type MutableUsage = { -readonly [K in keyof Usage]: Usage[K] }

/**
 * Finds the counter of a user, an organisation or everybody in a category. Within a batch the same arguments give the
 * same object.
 */
export type CounterOf = (scope: ScopeName, id: string, category: string) => Counter

/** Takes an amount back from a run in the history of its owner. An amount below 0 is added to the run. */
export type TakeBackEnded = (
  scope: HistoryScope,
  id: string,
  category: string,
  seconds: number,
  amount: number,
  startedAt: number,
) => void

/**
 * Decides a batch. This is the arithmetic that every store obeys. It changes the counters that `counterOf` returns. A
 * refused charge changes nothing, except that it corrects starts that lie in the future.
 * @param onAhead is called for each start that lies in the future
 * @param onces the keys of charges. Default none: each repetition is charged
 * @param takeBackEnded is called for runs that no counter holds. By default their refunds are ignored
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

/** A repetition of a charge adds nothing to the windows, and nor does a request that reuses the key of another one. */
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

/** Looks at all meters before it charges the first one, so that a refused charge starts no window. */
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
    // The ledger sets `batch` and the response sets `memo`. A property that is added later would cost five times as many bytes.
    batch: undefined,
    memo: undefined,
  }
}

/** Does the same as `decideMeter` for a caller with grants. What a grant pays counts in the books, but in no limited window of its scope. */
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

/** What was found in one scope. `payer` is `null` if the windows have room, and `undefined` if no grant pays. */
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

/** Looks at the counters of all grants, even of those after the one that pays, so that every store corrects the same starts. */
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

function paidOf({ payer }: Look): PaidByGrant | null {
  return payer ? { grant: payer.grant, ...payer.usage } : null
}

/** The counter of a scope that does not apply. Nothing is ever added to it. */
const NO_COUNTER: Counter = []

/** This is written as a loop, because closures would make every charge slower. */
function usagesOf(counter: Counter, limits: readonly Limit[], now: number, onAhead: AheadListener): MutableUsage[] {
  // The array has the right length from the start, because an array that grows by `push` takes room for 17 elements.
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

/** Adds `cost` to each window from the `first` on, starts the windows that are not running, and stores them in the counter. */
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

/** By how much a refund changes what was charged. If the request has a key, the costs of its repetitions count too. */
function amountMade(refund: Refund, onces: Onces | null): number {
  const report = onces === null ? null : reportOf(refund)
  return report === null || onces === null ? amountOf(refund) : onces.report(report)
}

function costsOf({ cost, others = [] }: Charge): number[] {
  return [cost, ...others.map((meter) => meter.cost)]
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
