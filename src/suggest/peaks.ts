import type { Listener } from '../replay/decide.ts'
import type { Entry } from '../replay/entry.ts'
import type { Tariff } from '../replay/tariffs.ts'

/** The windows that are suggested, the shortest first. */
export const WINDOWS = [
  { name: '1h', ms: 3_600_000 },
  { name: '1d', ms: 86_400_000 },
] as const

/** For one owner and each window: the start of its run, the tokens used in it, and the most tokens of any run. */
type Runs = Float64Array
const COLUMNS = 3

/** Fates of requests that took nothing from any limit. */
const FREE: ReadonlySet<Entry['fate']> = new Set(['repeated', 'exempt', 'exempt_user'])

/** The most tokens of one run of each window, by users and by all together, from a replay that refuses nothing. */
export class Peaks implements Listener {
  readonly #users = new Map<string, Map<string, Runs>>()
  readonly #all = new Map<string, Runs>()

  charged({ at, fate }: Entry, { meters, payer }: Tariff): void {
    if (FREE.has(fate)) return
    for (const { category, finalCost } of meters) {
      const users = this.#users.get(category) ?? new Map<string, Runs>()
      this.#users.set(category, users)
      addTo(users, payer.user, at, finalCost)
      addTo(this.#all, category, at, finalCost)
    }
  }

  refused(): void {
    throw new Error('a request was refused without limits')
  }

  shadowed(): void {
    throw new Error('a request was refused without limits')
  }

  uncharged(): void {}

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /** The peaks of users, the least first. @param window its place in `WINDOWS` */
  ofUsers(category: string, window: number): number[] {
    const runs = this.#users.get(category)?.values() ?? []
    return [...runs].map((each) => peakIn(each, window)).sort((a, b) => a - b)
  }

  ofAll(category: string, window: number): number {
    const runs = this.#all.get(category)
    return runs === undefined ? 0 : peakIn(runs, window)
  }
}

function addTo(owners: Map<string, Runs>, owner: string, at: number, tokens: number): void {
  const runs = owners.get(owner) ?? new Float64Array(WINDOWS.length * COLUMNS)
  owners.set(owner, runs)
  for (const [i, { ms }] of WINDOWS.entries()) {
    const column = i * COLUMNS
    const startedAt = runs[column] as number
    if (startedAt === 0 || at >= startedAt + ms) {
      runs[column] = at
      runs[column + 1] = 0
    }
    const used = (runs[column + 1] as number) + tokens
    runs[column + 1] = used
    runs[column + 2] = Math.max(runs[column + 2] as number, used)
  }
}

function peakIn(runs: Runs, window: number): number {
  return runs[window * COLUMNS + 2] as number
}
