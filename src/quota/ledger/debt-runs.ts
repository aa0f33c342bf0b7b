import { isBook } from '../books.ts'
import { amountOf, type Charge, type Decision, type Refund } from '../charge.ts'
import { chargedScopes, SCOPE_NAMES, type ScopeName } from '../charged-scopes.ts'
import type { Entry } from '../counter.ts'
import { endOf, type Length, type Limit, MOST_WINDOWS, type Usage } from '../window.ts'

/**
 * What is owed, by window and local run. A debt counts in a window for as long as the local run of the window lasts. In the books
 * a debt counts until it is paid, and then on the day of the payment. Each user has runs of his own; organisations and the global scope
 * have theirs. A scope that does not apply to the user is empty.
 */
export type Runs = Readonly<Record<ScopeName, Run[]>>

/** A run of a window, with the length or the calendar that says when the run ends. */
interface Run extends Entry, Length {
  readonly seconds: number
}

export function noRuns(): Runs {
  return { personal: [], organisation: [], global: [] }
}

/** The local runs in which a charge was admitted, each with its cost. */
export function runsOf(charge: Charge, decision: Decision): Runs {
  const runs = noRuns()
  for (const { scope, limits, usages } of chargedScopes(charge, decision)) {
    limits.forEach(({ window }, i) => {
      const { seconds, calendar } = window
      const startedAt = isBook(window) ? 0 : (usages[i]?.startedAt ?? 0)
      runs[scope].push({ seconds, calendar, startedAt, used: charge.cost })
    })
  }
  return runs
}

export function addRuns(owed: Runs, runs: Runs): void {
  for (const scope of SCOPE_NAMES) for (const run of runs[scope]) addRun(owed[scope], run)
}

/** Takes the amounts of a charge out of the runs that are owed, where the same run is still there. An amount below 0 is added. */
export function removeRuns(owed: Runs, runs: Runs): void {
  for (const scope of SCOPE_NAMES) {
    for (const run of runs[scope]) {
      const entry = sameRun(owed[scope], run)
      if (entry !== undefined) entry.used = Math.max(0, entry.used - run.used)
    }
  }
}

/**
 * A run replaces an earlier run of its window, which has ended. A run that is added late, when a later run is already there, counts
 * nowhere. If the window was emptied, two runs may overlap. Both are then owed, for as long as the later one lasts.
 */
function addRun(owed: Run[], run: Run): void {
  const known = owed.find(({ seconds }) => seconds === run.seconds)
  if (known === undefined) owed.push({ ...run })
  else if (doOverlap(known, run)) {
    known.startedAt = Math.max(known.startedAt, run.startedAt)
    known.used += run.used
  } else if (known.startedAt < run.startedAt) Object.assign(known, run)
}

/** What is owed in the run, or in a later one that took it in when the window was emptied. */
function sameRun(owed: readonly Run[], run: Run): Run | undefined {
  return owed.find((known) => known.seconds === run.seconds && doOverlap(known, run))
}

function doOverlap({ startedAt }: Run, run: Run): boolean {
  return Math.max(startedAt, run.startedAt) < lastsUntil(run, Math.min(startedAt, run.startedAt))
}

function running(runs: readonly Run[], at: number): Run[] {
  return runs.filter((run) => at < lastsUntil(run, run.startedAt))
}

function lastsUntil(run: Run, startedAt: number): number {
  return isBook(run) ? Number.POSITIVE_INFINITY : endOf(run, startedAt)
}

export function isOver(owed: Runs, at: number): boolean {
  return SCOPE_NAMES.every((scope) => running(owed[scope], at).length === 0)
}

/**
 * The forced charges of a user in a category that bring to each window what is owed in it. There is one charge for each
 * different amount. After a reload there may be too many windows for one charge, and then there are more charges.
 */
export function partsOf(owed: Runs, { user, organisation, category }: Charge, at: number): Charge[] {
  const open = SCOPE_NAMES.map((scope) => running(owed[scope], at))
  const amounts = new Set(open.flatMap((runs) => runs.map(({ used }) => used)).filter((used) => used > 0))
  return [...amounts].flatMap((cost) => {
    const [own = [], theirs = [], all = []] = open.map((runs) => inSteps(windowsOwed(runs, cost)))
    return Array.from({ length: Math.max(own.length, theirs.length, all.length) }, (_, i): Charge => {
      const limits = { personal: own[i] ?? [], organisation: theirs[i] ?? null, global: all[i] ?? null }
      return { user, organisation, category, cost, forced: true, limits }
    })
  })
}

function windowsOwed(runs: readonly Run[], cost: number): Limit[] {
  return runs
    .filter((run) => run.used === cost)
    .map(({ seconds, calendar }) => {
      const window = { name: `${seconds}s`, seconds }
      return { window: calendar === undefined ? window : { ...window, calendar }, limit: 0 }
    })
}

function inSteps(windows: readonly Limit[]): (readonly Limit[])[] {
  return Array.from({ length: Math.ceil(windows.length / MOST_WINDOWS) }, (_, i) =>
    windows.slice(i * MOST_WINDOWS, (i + 1) * MOST_WINDOWS),
  )
}

/**
 * What a paid part gives back for a charge, in the windows whose runs contained the charge.
 * @param paid the store's decision on the part
 */
export function refundOf(owed: Runs, part: Charge, paid: Decision, refund: Refund): Refund[] {
  const { charge, decision } = refund
  const runs = runsOf(charge, decision)
  const counted = (scope: ScopeName) => countedIn(part.limits[scope] ?? [], paid[scope] ?? [], owed[scope], runs[scope])
  const [own, theirs, all] = [counted('personal'), counted('organisation'), counted('global')]
  if (own.limits.length + theirs.limits.length + all.limits.length === 0) return []
  const limits = { personal: own.limits, organisation: unlessEmpty(theirs.limits), global: unlessEmpty(all.limits) }
  const usages = { personal: own.usages, organisation: unlessEmpty(theirs.usages), global: unlessEmpty(all.usages) }
  const amount = amountOf(refund)
  return [{ amount, charge: { ...part, cost: charge.cost, limits }, decision: { ...paid, ...usages } }]
}

/** Those of the paid windows whose local run is among `runs`, with the usage that the store reported. */
function countedIn(limits: readonly Limit[], usages: readonly Usage[], owed: readonly Run[], runs: readonly Run[]) {
  const counts = limits.map(({ window }) =>
    runs.some((run) => run.seconds === window.seconds && sameRun(owed, run) !== undefined),
  )
  return { limits: limits.filter((_, i) => counts[i]), usages: usages.filter((_, i) => counts[i]) }
}

/** A scope without windows does not apply. */
function unlessEmpty<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}
