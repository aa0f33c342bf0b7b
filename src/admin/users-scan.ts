import { z } from 'zod'
import { isUserId } from '../control/user-id.ts'
import type { InTurn } from '../lib/serialize.ts'
import { isInUse } from '../quota/counter.ts'
import type { Used, UsedStep } from '../quota/quota-store.ts'
import type { Desk } from './desk.ts'
import type { FieldProblem } from './http.ts'
import { LOOKED_AT, MOST_STEPS } from './rosters.ts'
import type { Judge } from './standing.ts'
import type { View } from './state.ts'
import { readUsed } from './used.ts'
import { CURSOR, pageProblem, type UsersQuery } from './used-list.ts'

/** Pages of users in the order of the store's scan, for a list without an order. */

export interface UsersPage {
  readonly found: readonly Used[]
  /** The cursor of the next page; `null` after the last. */
  readonly next: string | null
  /** The store's time of the reading. */
  readonly at: number
}

/**
 * Where a page of the list begins. Owners with an override come first, in the order of their ids. Then come those with
 * usage, in the order of the store's scan. A full page may end in the middle of a step. The next page repeats the step and
 * goes on after the last id in the order of ids, because a step of the scan has no order of its own.
 */
interface Place {
  readonly phase: 'overrides' | 'scan'
  /** The cursor of the step; `null` for the first step of the phase. */
  readonly step: string | null
  /** The last id of the step that was shown; `null` for none. */
  readonly after: string | null
}

const START: Place = { phase: 'overrides', step: null, after: null }
/** How many users one request looks at if more than the id decides who matches. A search without a hit ends with an empty page and a cursor. */
const FILTERED_AT = 50_000
/** Owners with an override are read one by one, this many at a time. Each counts as much as `SCANNED_FOR_ONE` owners of a scan. */
const READ_AT_ONCE = 50
const SCANNED_FOR_ONE = 50

export interface ScanOptions {
  readonly desk: Desk
  readonly view: View
  readonly judge: Judge
  readonly signal: AbortSignal
  /** Shared by all searches, so that however many there are, their steps take turns. */
  readonly inTurn: InTurn
}

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function readPage(
  options: ScanOptions,
  query: UsersQuery,
): Promise<UsersPage | { readonly problems: readonly FieldProblem[] }> {
  const start = query.cursor === undefined ? START : readPlace(query.cursor)
  if (start === null) return { problems: [CURSOR] }
  const problem = pageProblem(query, options.view.policy) ?? markProblem(query)
  if (problem !== null) return { problems: [problem] }
  const scan = new Scan(options, query)
  // The owner who is named exactly is on the first page, so other pages leave that one out.
  const first = query.cursor === undefined ? await scan.named() : []
  const { found, next, at } = await scan.pageFrom(start, query.limit - first.length)
  return { found: [...first, ...found], next: next === null ? null : writePlace(next), at }
}

/** Only a search through everybody finds out who has these marks. */
function markProblem(marks: UsersQuery): FieldProblem | null {
  const path = (['near', 'refused', 'exempt'] as const).find((name) => marks[name])
  return path === undefined ? null : { path, msg: 'needs an order, such as order=use' }
}

class Scan {
  readonly #options: ScanOptions
  readonly #query: UsersQuery
  /** Whether only owners with an override can match. */
  readonly #needsOverride: boolean
  /** Whether usage, plan or organisation decide who matches, and not the id alone. */
  readonly #judges: boolean
  readonly #wanted: string
  #sorted: readonly string[] | null = null

  constructor(options: ScanOptions, query: UsersQuery) {
    this.#options = options
    this.#query = query
    this.#wanted = query.query.toLowerCase()
    this.#needsOverride = query.override || query.shadow
    this.#judges = query.blocked || (query.plan ?? query.organisation) !== undefined
  }

  /** The owner whose id is the text of the search, if the list has it. A scan may meet that owner last. @throws StoreError */
  async named(): Promise<readonly Used[]> {
    const { desk, view } = this.#options
    const { query: id } = this.#query
    if (!isUserId(id) || !this.#hasId(id)) return []
    const used = await readUsed(desk, view.policy, 'personal', id)
    return view.state.overrides.has(id) || this.#isInUse(used, used.at) ? this.#fitting([used], used.at) : []
  }

  async pageFrom(start: Place, limit: number): Promise<Omit<UsersPage, 'next'> & { readonly next: Place | null }> {
    const { view, signal } = this.#options
    const most = this.#judges ? FILTERED_AT : LOOKED_AT
    const found: Used[] = []
    let place: Place | null = start
    let { at } = view
    let [lookedAt, steps] = [0, 0]
    while (place !== null && found.length < limit && lookedAt < most && steps++ < MOST_STEPS) {
      signal.throwIfAborted()
      const here: Place = place
      const isScan = here.phase === 'scan'
      const seen = await (isScan ? this.#scanned(here.step) : this.#overridden(here.step))
      at = seen.at
      lookedAt += seen.owners.length * (isScan ? 1 : SCANNED_FOR_ONE)
      const left = seen.owners.filter((used) => this.#isLeft(used, here, at))
      const rest = (await this.#fitting(left, at)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      // If some are left over, the next page goes on after the last one that is shown.
      const shown = rest.slice(0, limit - found.length)
      found.push(...shown)
      place = shown.length < rest.length ? { ...here, after: shown.at(-1)?.id ?? here.after } : this.#behind(here, seen)
    }
    return { found, next: place, at }
  }

  #scanned(cursor: string | null): Promise<UsedStep> {
    const { desk, inTurn } = this.#options
    return inTurn(() => desk.store.scanUsers(cursor))
  }

  /** Steps through the owners with an override, in the order of their ids. The cursor of a step is the id before it. */
  async #overridden(cursor: string | null): Promise<UsedStep> {
    const { desk, view, inTurn } = this.#options
    this.#sorted ??= [...view.state.overrides.keys()].filter((id) => this.#matches(id)).sort()
    const left = cursor === null ? this.#sorted : this.#sorted.filter((id) => id > cursor)
    const ids = left.slice(0, READ_AT_ONCE)
    const owners = await inTurn(() => Promise.all(ids.map((id) => readUsed(desk, view.policy, 'personal', id))))
    return { at: owners[0]?.at ?? view.at, owners, next: ids.length < left.length ? (ids.at(-1) ?? null) : null }
  }

  /** Whether an owner of a step matches by id, was on no page before, and does not belong to the other phase. */
  #isLeft(used: Used, { phase, after }: Place, at: number): boolean {
    if (after !== null && used.id <= after) return false
    const { overrides } = this.#options.view.state
    return phase === 'overrides' || (this.#matches(used.id) && !overrides.has(used.id) && this.#isInUse(used, at))
  }

  #matches(id: string): boolean {
    return id !== this.#query.query && this.#hasId(id) && id.toLowerCase().includes(this.#wanted)
  }

  /** Whether an id can match, apart from the text of the search. */
  #hasId(id: string): boolean {
    const { state, policy } = this.#options.view
    return (!this.#needsOverride || state.overrides.has(id)) && (!this.#query.shadow || policy.isShadowed(id))
  }

  #isInUse({ counters }: Used, at: number): boolean {
    return isInUse(counters, this.#options.view.policy.windowsOfAnybody, at)
  }

  /** The owners who match by usage, plan and organisation. @throws StoreError */
  async #fitting(some: readonly Used[], at: number): Promise<readonly Used[]> {
    if (!this.#judges || some.length === 0) return some
    const { view, judge } = this.#options
    const { plan, organisation, blocked } = this.#query
    const judged = await judge.of(some.map(({ id }) => id))
    return judged.flatMap(({ payer, standingOf }, i) => {
      const used = some[i] as Used
      const fits =
        (plan === undefined || view.policy.planOf(payer)?.name === plan) &&
        (organisation === undefined || payer.organisation === organisation) &&
        (!blocked || standingOf(used, at).state === 'refused')
      return fits ? [used] : []
    })
  }

  /** The place of the step after this one; `null` after the last. */
  #behind({ phase }: Place, { next }: UsedStep): Place | null {
    if (next !== null) return { phase, step: next, after: null }
    return phase === 'overrides' && !this.#needsOverride ? { phase: 'scan', step: null, after: null } : null
  }
}

function writePlace({ phase, step, after }: Place): string {
  return Buffer.from(JSON.stringify([phase, step, after])).toString('base64url')
}

const Written = z.tuple([z.enum(['overrides', 'scan']), z.string().nullable(), z.string().nullable()])

function readPlace(cursor: string): Place | null {
  try {
    const [phase, step, after] = Written.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { phase, step, after }
  } catch {
    return null
  }
}
