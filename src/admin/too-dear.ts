import type { WarningResponse } from '../contract/api.ts'
import type { Wanted, WantedOverrides, Whose } from '../control/override-file.ts'
import { inSlices } from '../lib/slices.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { ValueTable } from '../quota/limit-value.ts'
import { memberOf, type Policy, payerOf } from '../quota/policy.ts'
import { neverFitsSentence, SCOPE_TITLES } from '../quota/refusal.ts'
import { type Limit, promised } from '../quota/window.ts'

/** The costs of a rule's requests, if the quota may refuse them. */
export interface Priced {
  /** As written in the file, or `unmatched`. */
  readonly match: string
  readonly category: string
  readonly costs: readonly number[]
}

/** A limit into which some request can never fit, so that waiting does not help. */
type TooDear = WarningResponse

const SHOWN = 20

/** Checks the limits for everybody, and those that plans have instead. */
export function tooDear(policy: Policy, routes: readonly Priced[]): TooDear[] {
  return policy.categories.flatMap((category) => {
    const { personal, global } = policy.limitsOf(category)
    return [
      ...among('personal', category, personal, routes),
      ...policy.plans.flatMap((plan) => tooDearIn(policy, plan, category, routes)),
      ...among('global', category, global ?? [], routes),
    ]
  })
}

/** Checks the limits that a plan has of its own. A limit of 0 does not count, since it keeps the plan from a category on purpose. */
function tooDearIn(policy: Policy, plan: string, category: string, routes: readonly Priced[]): TooDear[] {
  const { personal: everybody } = policy.limitsOf(category)
  const { personal, organisation } = policy.limitsOf(category, plan)
  const ofAll = ({ window }: Limit) => everybody.find((each) => each.window.name === window.name)?.limit
  const own = personal.filter((each) => each.limit > 0 && each.limit !== ofAll(each))
  const shared = (organisation ?? []).filter(({ limit }) => limit > 0)
  const found = [...among('personal', category, own, routes), ...among('organisation', category, shared, routes)]
  return found.map((each) => ({ plan, ...each, msg: `Plan ${plan}: ${each.msg}` }))
}

/** Checks the limits that were set for one user, by a value, a factor or a plan of the user's own. */
export function tooDearFor(
  policy: Policy,
  user: string,
  override: Sets & { readonly plan?: string | undefined },
  routes: readonly Priced[],
): TooDear[] {
  const { plan } = override
  return policy.categories.flatMap((category) => {
    const sets = setsIn(override, category)
    const own = policy.limitsFor(category, payerOf(user)).personal.filter(({ window }) => sets(window.name))
    const ofPlan = plan === undefined || !policy.plans.includes(plan) ? [] : tooDearIn(policy, plan, category, routes)
    const isReplaced = ({ scope, window }: TooDear) => scope === SCOPE_TITLES.personal && sets(window)
    return [...among('personal', category, own, routes), ...ofPlan.filter((each) => !isReplaced(each))]
  })
}

interface Sets {
  readonly limits: ValueTable
  readonly factor?: number | undefined
}

/** Whether an override sets the limit of a window: by a value, or by its factor. */
function setsIn({ limits, factor = 1 }: Sets, category: string): (window: string) => boolean {
  const row = Object.hasOwn(limits, category) ? (limits[category] ?? {}) : {}
  return (window) => factor !== 1 || Object.hasOwn(row, window)
}

/** Checks the limits that were set for one organisation. A limit of 0 does not count, since it keeps the organisation out on purpose. */
export function tooDearForOrganisation(
  policy: Policy,
  organisation: string,
  override: Sets,
  routes: readonly Priced[],
): TooDear[] {
  return policy.categories.flatMap((category) => {
    const sets = setsIn(override, category)
    const theirs = policy.limitsFor(category, memberOf(organisation)).organisation ?? []
    const own = theirs.filter(({ window, limit }) => limit > 0 && sets(window.name))
    return among('organisation', category, own, routes)
  })
}

function among(scope: ScopeName, category: string, limits: readonly Limit[], routes: readonly Priced[]): TooDear[] {
  return limits.flatMap((limit) => {
    const dear = routes.filter((route) => route.category === category && dearest(route) > limit.limit)
    if (dear.length === 0) return []
    const cost = Math.max(...dear.map(dearest))
    const shown = dear.slice(0, SHOWN).map(({ match }) => match)
    const more = dear.length > SHOWN ? ` and ${dear.length - SHOWN} more` : ''
    const msg = `${shown.join(', ')}${more}: ${neverFitsSentence(scope, limit, category, cost, shown.length === 1 ? 'A request' : 'The dearest request')}`
    const about = { scope: SCOPE_TITLES[scope], category, window: limit.window.name, limit: promised(limit), cost }
    return [{ ...about, routes: shown, routeCount: dear.length, msg }]
  })
}

function dearest({ costs }: Priced): number {
  return Math.max(...costs)
}

/** Lines of a file of overrides into whose limits some request can never fit: the first ones, and how many there are. */
export interface TooDearLines {
  readonly lines: readonly (TooDear & Whose & { readonly line: number })[]
  readonly count: number
}

/** How many lines are listed. */
const MOST_LINES = 100

/** Checks the limits of all overrides in a file. @param policy with these overrides @param exempt the users who are never charged */
export async function tooDearLines(
  policy: Policy,
  wanted: WantedOverrides,
  { exempt, priced }: { readonly exempt: ReadonlySet<string>; readonly priced: readonly Priced[] },
): Promise<TooDearLines> {
  const lines: (TooDear & Whose & { line: number })[] = []
  const slices = inSlices()
  let count = 0
  async function look<T>(
    of: Wanted<T>,
    whose: (id: string) => Whose,
    tooDearIn: (id: string, override: T) => TooDear[],
  ) {
    for (const [id, { line, all }] of of) {
      if (slices.isOver()) await slices.next()
      // The last one is in force, and the policy uses its limits.
      const override = all.at(-1)
      const found = override === undefined ? [] : tooDearIn(id, override)
      if (found.length > 0) count++
      if (lines.length < MOST_LINES) lines.push(...found.map((each) => ({ line, ...whose(id), ...each })))
    }
  }
  await look(
    wanted.organisations,
    (organisation) => ({ organisation }),
    (id, override) => tooDearForOrganisation(policy, id, override, priced),
  )
  await look(
    wanted.users,
    (user) => ({ user }),
    (id, override) => (exempt.has(id) ? [] : tooDearFor(policy, id, override, priced)),
  )
  return { lines: lines.slice(0, MOST_LINES), count }
}
