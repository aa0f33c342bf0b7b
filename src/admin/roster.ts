import { inSlices } from '../lib/slices.ts'
import type { Standing } from '../quota/standing.ts'

/** Sorts, filters and counts a list of owners, and returns any page of it. These functions are pure. */

export interface Entry {
  readonly id: string
  /** The plan in force of a user, or the plans of an organisation's members. */
  readonly plans: readonly string[]
  /** The organisation that a user's credential last named. */
  readonly organisation: string | null
  /** How many users of an organisation are known; 1 for a user. */
  readonly users: number
  readonly state: Standing['state']
  readonly override: boolean
  /** Whether an override puts the owner into shadow mode. */
  readonly shadow: boolean
  /** `share` and `tokens` are those of `Fullness`. */
  readonly share: number
  readonly tokens: number
  /** When the window nearest to its limit ends, in milliseconds since the epoch; `null` if none runs. */
  readonly resetAt: number | null
  /** When a window will be full at the present pace, 0 if one is full; `null` if none will be. */
  readonly fullAt: number | null
  /** How many requests the quota refused in the last 24 hours. */
  readonly refused: number
}

export interface Roster {
  readonly entries: readonly Entry[]
  /** Whether the list includes everybody. */
  readonly complete: boolean
}

/** An owner who has used this part of a limit, or more, is near the limit. */
const NEAR = 0.8

type Key = (entry: Entry) => number | string | null

/** The orders of a list. Numbers begin with the greatest, times with the soonest, and texts with the first in the order of characters. */
const KEYS = {
  use: ({ share }) => -share,
  tokens: ({ tokens }) => -tokens,
  refused: ({ refused }) => -refused,
  full: ({ fullAt }) => fullAt,
  reset: ({ resetAt }) => resetAt,
  override: ({ override }) => (override ? 0 : 1),
  plan: ({ plans }) => plans[0] ?? null,
  organisation: ({ organisation }) => organisation,
  users: ({ users }) => -users,
  name: ({ id }) => id,
} as const satisfies Record<string, Key>

type OrderName = keyof typeof KEYS
export type Order = OrderName | `-${OrderName}`
const NAMES = Object.keys(KEYS) as OrderName[]
export const ORDERS: readonly Order[] = [...NAMES, ...NAMES.map((name): Order => `-${name}`)]

/** The marks by which the API can filter. Each has a count. */
export const MARKS = {
  near: ({ share }: Entry) => share >= NEAR,
  refused: ({ refused }: Entry) => refused > 0,
  override: ({ override }: Entry) => override,
  exempt: ({ state }: Entry) => state === 'exempt',
  blocked: ({ state }: Entry) => state === 'refused',
  shadow: ({ shadow }: Entry) => shadow,
} as const
export type Mark = keyof typeof MARKS
const MARK_NAMES = Object.keys(MARKS) as Mark[]

export interface RosterWish extends Partial<Readonly<Record<Mark, boolean>>> {
  /** A part of the id in any letter case. An owner with exactly this id comes first. */
  readonly query: string
  readonly plan?: string | undefined
  readonly organisation?: string | undefined
  readonly order: Order
  /** How many entries come before the page. */
  readonly offset: number
  readonly limit: number
}

export interface RosterPage {
  readonly entries: readonly Entry[]
  /** How many entries match. */
  readonly total: number
  /** For each mark, how many of the entries that match query, plan and organisation have it. */
  readonly counts: Readonly<Record<Mark | 'all', number>>
}

/** One page of the list. It lets other work go on meanwhile. */
export async function pageOf({ entries }: Roster, wish: RosterWish): Promise<RosterPage> {
  const { order, offset, limit } = wish
  const counts = { all: 0, ...Object.fromEntries(MARK_NAMES.map((name) => [name, 0])) } as Record<Mark | 'all', number>
  const wanted = MARK_NAMES.filter((name) => wish[name] === true)
  const isOfScope = scopeOf(wish)
  const compare = comparing(order, wish.query)
  const most = offset + limit
  const slices = inSlices()
  let first: Entry[] = []
  let total = 0
  for (const entry of entries) {
    if (!isOfScope(entry)) continue
    counts.all++
    for (const name of MARK_NAMES) if (MARKS[name](entry)) counts[name]++
    if (!wanted.every((name) => MARKS[name](entry))) continue
    total++
    first.push(entry)
    // Entries that cannot be on the page are dropped now and then, so that a first page never sorts the whole list.
    if (first.length >= 2 * most + 500) first = first.sort(compare).slice(0, most)
    if (slices.isOver()) await slices.next()
  }
  return { entries: first.sort(compare).slice(offset, most), total, counts }
}

function scopeOf({ query, plan, organisation }: RosterWish): (entry: Entry) => boolean {
  const wanted = query.toLowerCase()
  return (entry) =>
    entry.id.toLowerCase().includes(wanted) &&
    (plan === undefined || entry.plans.includes(plan)) &&
    (organisation === undefined || entry.organisation === organisation)
}

function comparing(order: Order, query: string): (a: Entry, b: Entry) => number {
  const isReversed = order.startsWith('-')
  const keyOf: Key = KEYS[(isReversed ? order.slice(1) : order) as OrderName]
  const sign = isReversed ? -1 : 1
  return (a, b) =>
    Number(b.id === query) - Number(a.id === query) ||
    byKey(keyOf(a), keyOf(b), sign) ||
    b.refused - a.refused ||
    (a.id < b.id ? -1 : 1)
}

/** Entries without a value come last, in either direction. */
function byKey(a: number | string | null, b: number | string | null, sign: 1 | -1): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a < b ? -sign : sign
}
