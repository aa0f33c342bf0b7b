import type { Charge, Decision, Refund } from '../charge.ts'
import { type Counter, type Entry, running } from '../counter.ts'
import { type Limit, MOST_WINDOWS, type Usage } from '../window.ts'

/**
 * What is owed, by window and local run: a debt counts in a window as long as the local run of that window lasts. The runs of
 * all users together are not those of each user. `global` is empty for a user who bypasses the global scope.
 */
export interface Runs {
  readonly personal: Counter
  readonly global: Counter
}

const SCOPES = ['personal', 'global'] as const

/** The local runs that a charge was admitted in, each with its cost. */
export function runsOf({ cost, limits }: Charge, { personal, global }: Decision): Runs {
  const runs = (windows: readonly Limit[], usages: readonly Usage[]): Counter =>
    windows.map(({ window: { seconds } }, i) => ({ seconds, startedAt: usages[i]?.startedAt ?? 0, used: cost }))
  return { personal: runs(limits.personal, personal), global: runs(limits.global ?? [], global ?? []) }
}

export function addRuns(owed: Runs, runs: Runs): void {
  for (const scope of SCOPES) for (const run of runs[scope]) addRun(owed[scope], run)
}

/** Takes what was added with these runs out again, as far as they still count; what is below 0 is added. */
export function removeRuns(owed: Runs, runs: Runs): void {
  for (const scope of SCOPES) {
    for (const run of runs[scope]) {
      const entry = sameRun(owed[scope], run)
      if (entry !== undefined) entry.used = Math.max(0, entry.used - run.used)
    }
  }
}

/**
 * A run replaces an earlier one of its window, which has ended; one that comes late for its run counts nowhere. Two that
 * overlap, since the window was emptied in between, are owed both, as long as the later one lasts.
 */
function addRun(owed: Counter, run: Entry): void {
  const known = owed.find(({ seconds }) => seconds === run.seconds)
  if (known === undefined) owed.push({ ...run })
  else if (Math.abs(known.startedAt - run.startedAt) < 1000 * run.seconds) {
    known.startedAt = Math.max(known.startedAt, run.startedAt)
    known.used += run.used
  } else if (known.startedAt < run.startedAt) Object.assign(known, run)
}

function sameRun(owed: Counter, run: Entry): Entry | undefined {
  return owed.find(({ seconds, startedAt }) => seconds === run.seconds && startedAt === run.startedAt)
}

export function isOver(owed: Runs, at: number): boolean {
  return SCOPES.every((scope) => running(owed[scope], at).length === 0)
}

/**
 * The forced charges of a user in a category that leave in each window what is owed there. There is one for each
 * different amount. A reload may bring other windows, which may be too many for one charge: then there are more.
 */
export function partsOf(owed: Runs, { user, category }: Charge, at: number): Charge[] {
  const personal = running(owed.personal, at)
  const global = running(owed.global, at)
  const amounts = new Set([...personal, ...global].map((run) => run.used).filter((used) => used > 0))
  return [...amounts].flatMap((cost) => {
    const own = inSteps(windowsOwed(personal, cost))
    const all = inSteps(windowsOwed(global, cost))
    return Array.from({ length: Math.max(own.length, all.length) }, (_, i): Charge => {
      const limits = { personal: own[i] ?? [], organisation: null, global: all[i] ?? null }
      return { user, organisation: null, category, cost, forced: true, limits }
    })
  })
}

function windowsOwed(runs: Counter, cost: number): Limit[] {
  return runs
    .filter((run) => run.used === cost)
    .map(({ seconds }) => ({ window: { name: `${seconds}s`, seconds }, limit: 0 }))
}

function inSteps(windows: readonly Limit[]): (readonly Limit[])[] {
  return Array.from({ length: Math.ceil(windows.length / MOST_WINDOWS) }, (_, i) =>
    windows.slice(i * MOST_WINDOWS, (i + 1) * MOST_WINDOWS),
  )
}

/**
 * What a paid part is to give back for a charge, in the windows whose runs the charge was part of.
 * @param paid the store's decision for the part
 */
export function refundOf(owed: Runs, part: Charge, paid: Decision, refund: Refund): Refund[] {
  const { charge, decision } = refund
  const runs = runsOf(charge, decision)
  const own = countedIn(part.limits.personal, paid.personal, owed.personal, runs.personal)
  const all = countedIn(part.limits.global ?? [], paid.global ?? [], owed.global, runs.global)
  if (own.limits.length + all.limits.length === 0) return []
  const isGlobal = all.limits.length > 0
  const limits = { personal: own.limits, organisation: null, global: isGlobal ? all.limits : null }
  const usages = { personal: own.usages, organisation: null, global: isGlobal ? all.usages : null }
  return [{ ...refund, charge: { ...part, cost: charge.cost, limits }, decision: { ...paid, ...usages } }]
}

/** Of windows that were paid, those whose local run is among `runs`, with what the store said of them. */
function countedIn(limits: readonly Limit[], usages: readonly Usage[], owed: Counter, runs: Counter) {
  const counts = limits.map(({ window }) =>
    runs.some((run) => run.seconds === window.seconds && sameRun(owed, run) !== undefined),
  )
  return { limits: limits.filter((_, i) => counts[i]), usages: usages.filter((_, i) => counts[i]) }
}
