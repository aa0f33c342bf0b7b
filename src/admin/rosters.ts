import { planIn } from '../control/in-steps.ts'
import { type InTurn, oneAtATimeWithRest } from '../lib/serialize.ts'
import { inSlices } from '../lib/slices.ts'
import { everyStep } from '../lib/steps.ts'
import { type Counter, isInUse } from '../quota/counter.ts'
import type { Payer } from '../quota/policy.ts'
import type { Used, UsedStep } from '../quota/quota-store.ts'
import { organisationBlocks } from '../quota/standing.ts'
import { type RefusedBy, refusalCounts } from '../usage/refusal-groups.ts'
import type { Desk } from './desk.ts'
import { type Fullness, fullnessOf } from './fullness.ts'
import { limitsOfMembers } from './member-plans.ts'
import type { Entry, Roster } from './roster.ts'
import { Judge } from './standing.ts'
import type { View } from './state.ts'
import { readUsed } from './used.ts'
import { rulesOf } from './used-list.ts'

/** How many users or organisations one roster looks at. */
export const LOOKED_AT = 200_000
/** The most steps of one search. A step of Redis looks at keys of all kinds, and may find no owner. */
export const MOST_STEPS = 2000
/** If a search stopped early, owners who came in none of its steps are read one by one, this many at a time. */
const READ_AT_ONCE = 50
const MOST_READ = 1000
/** A roster with more entries is used again for `KEPT_MS`, because several pages of one list should need one look. */
const FEW = 1000
const KEPT_MS = 5000
const REFUSED_MS = 24 * 3_600_000

/** Facts about an organisation that come from its users. */
interface Members {
  count: number
  tokens: number
  readonly plans: Set<string | null>
}

interface Kept<T> {
  readonly view: View
  readonly at: number
  readonly made: T
}

type Users = Roster & { readonly members: ReadonlyMap<string, Members> }

interface Asking {
  readonly view: View
  readonly signal: AbortSignal
}

/** Makes the rosters of users and of organisations from scans of the store, and keeps long ones for a while. */
export class Rosters {
  /** Shared by all searches, so that however many there are, their steps take turns. */
  readonly inTurn: InTurn = oneAtATimeWithRest()
  readonly #desk: Desk
  #users: Kept<Users> | null = null
  #organisations: Kept<Roster> | null = null

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Users with usage, an override, an exemption or a recent refusal. @throws StoreError, or the reason of the signal */
  async users(asking: Asking): Promise<Users> {
    const made = fresh(this.#users, asking) ?? (await this.#makeUsers(asking))
    this.#users = keep(this.#users, asking, made)
    return made
  }

  /**
   * Organisations with kept usage, a known user, an override or a recent refusal.
   * @throws StoreError, or the reason of the signal
   */
  async organisations(asking: Asking): Promise<Roster> {
    const made = fresh(this.#organisations, asking) ?? (await this.#makeOrganisations(asking))
    this.#organisations = keep(this.#organisations, asking, made)
    return made
  }

  async #makeUsers({ view, signal }: Asking): Promise<Users> {
    const { policy, state, setup } = view
    const refused = await this.#refused('user', view, signal)
    const judge = new Judge(this.#desk, view)
    const entries = new Map<string, Entry>()
    const members = new Map<string, Members>()
    const named = new Set([...state.overrides.keys(), ...setup.exempt, ...refused.keys()])
    const add = async (owners: readonly Used[], at: number): Promise<void> => {
      const judged = await judge.of(owners.map(({ id }) => id))
      for (const [i, used] of owners.entries()) {
        const one = judged[i]
        if (one === undefined || entries.has(used.id)) continue
        const limitsOf = (category: string) => policy.limitsFor(category, one.payer).personal
        const fullness = fullnessOf(used.counters, limitsOf, rulesOf(view, at))
        const plan = policy.planOf(one.payer)?.name ?? null
        const { organisation } = one.payer
        if (organisation !== null) addMember(members, organisation, planIn(policy, one.payer), fullness.tokens)
        entries.set(used.id, {
          ...lineOf(used.id, fullness, refused),
          ...{ plans: plan === null ? [] : [plan], organisation, users: 1, state: one.standingOf(used, at).state },
          ...{ override: state.overrides.has(used.id), shadow: policy.isShadowed(used.id) },
        })
      }
    }
    const scan = (cursor: string | null) => this.#desk.store.scanUsers(cursor)
    const complete = await this.#each(scan, signal, ({ owners, at }) =>
      add(
        owners.filter(({ id, counters }) => named.has(id) || isInUse(counters, policy.windowsOfAnybody, at)),
        at,
      ),
    )
    const left = [...named].filter((id) => !entries.has(id))
    const read = async (id: string) => (complete ? NOTHING(id) : readUsed(this.#desk, policy, 'personal', id))
    for (let i = 0; i < left.length && (complete || i < MOST_READ); i += READ_AT_ONCE) {
      signal.throwIfAborted()
      await add(await this.inTurn(() => Promise.all(left.slice(i, i + READ_AT_ONCE).map(read))), view.at)
    }
    return { entries: [...entries.values()], members, complete }
  }

  async #makeOrganisations({ view, signal }: Asking): Promise<Roster> {
    const { members, complete: areUsers } = await this.users({ view, signal })
    const { store } = this.#desk
    const refused = await this.#refused('organisation', view, signal)
    const found = new Map<string, Used['counters']>()
    const named = [...view.state.organisationOverrides.keys(), ...members.keys(), ...refused.keys()]
    let { at } = view
    const inUse = await this.#each(
      (cursor) => store.scanOrganisations(cursor),
      signal,
      async (step) => {
        at = step.at
        for (const { id, counters } of step.owners) found.set(id, counters)
      },
    )
    const kept = await this.#each(
      (cursor) => store.scanHistory('organisation', cursor),
      signal,
      async ({ owners }) => {
        for (const { id } of owners) named.push(id)
      },
    )
    for (const id of named) if (!found.has(id)) found.set(id, new Map())
    const ids = [...found.keys()]
    const entries: Entry[] = []
    const slices = inSlices()
    for (let i = 0; i < ids.length; i += FEW) {
      signal.throwIfAborted()
      const some = ids.slice(i, i + FEW)
      for (const last of await this.#desk.membersOf(some)) {
        const id = last.organisation ?? ''
        const used: Used = { id, counters: found.get(id) ?? new Map<string, Counter>() }
        entries.push(organisationLine(view, used, last, members.get(id), refused, at))
        if (slices.isOver()) await slices.next()
      }
    }
    return { entries, complete: areUsers && inUse && kept }
  }

  async #refused(by: RefusedBy, { at }: View, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return refusalCounts(this.#desk.store, by, { since: at - REFUSED_MS, shadow: false, signal })
  }

  /** @returns whether all steps were made */
  async #each<S extends Pick<UsedStep, 'next'> & { readonly owners: readonly unknown[] }>(
    scan: (cursor: string | null) => Promise<S>,
    signal: AbortSignal,
    visit: (step: S) => Promise<void>,
  ): Promise<boolean> {
    let [seen, steps] = [0, 0]
    for await (const step of everyStep((cursor: string | null) => this.inTurn(() => scan(cursor)), signal)) {
      await visit(step)
      seen += step.owners.length
      if (step.next !== null && (seen >= LOOKED_AT || ++steps >= MOST_STEPS)) return false
    }
    return true
  }
}

const NOTHING = (id: string): Used => ({ id, counters: new Map() })

function organisationLine(
  view: View,
  used: Used,
  last: Payer,
  of: Members | undefined,
  refused: ReadonlyMap<string, number>,
  at: number,
): Entry {
  const { policy, setup, shadow, state } = view
  const { id, counters } = used
  const limitsOf = (category: string) => limitsOfMembers(policy, category, last)
  const fullness = fullnessOf(counters, limitsOf, rulesOf(view, at))
  const plans = new Set([...(of?.plans ?? []), planIn(policy, last)])
  const payers = [...plans].map((plan) => ({ ...last, plan }))
  const blocks = organisationBlocks({ policy, cheapest: setup.cheapest, shadow }, payers, counters, at)
  return {
    ...lineOf(id, fullness, refused),
    // An organisation without limits is counted only by its users.
    tokens: fullness.tokens || (of?.tokens ?? 0),
    plans: [...plans].filter((plan) => plan !== null).sort(),
    ...{ organisation: null, users: of?.count ?? 0, state: blocks.length > 0 ? 'refused' : 'room' },
    ...{ override: state.organisationOverrides.has(id), shadow: false },
  }
}

function addMember(members: Map<string, Members>, organisation: string, plan: string | null, tokens: number): void {
  const of = members.get(organisation) ?? { count: 0, tokens: 0, plans: new Set() }
  of.count++
  of.tokens += tokens
  of.plans.add(plan)
  members.set(organisation, of)
}

/** The part of a line that comes from usage and refusals. */
function lineOf(
  id: string,
  { share, tokens, worst, isFull, forecast }: Fullness,
  refused: ReadonlyMap<string, number>,
) {
  return {
    ...{ id, share, tokens, resetAt: worst?.run.endsAt ?? null },
    ...{ fullAt: isFull ? 0 : (forecast?.at ?? null), refused: refused.get(id) ?? 0 },
  }
}

function fresh<T>(kept: Kept<T> | null, { view }: Asking): T | null {
  if (kept === null || view.at - kept.at > KEPT_MS || view.at < kept.at) return null
  return kept.view.state === view.state && kept.view.setup === view.setup ? kept.made : null
}

function keep<T extends Roster>(kept: Kept<T> | null, { view }: Asking, made: T): Kept<T> | null {
  if (kept?.made === made) return kept
  return made.entries.length > FEW ? { view, at: view.at, made } : null
}
