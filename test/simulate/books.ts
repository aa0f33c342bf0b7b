import type { Charge, Decision } from '../../src/quota/charge.ts'
import type { Usage } from '../../src/quota/window.ts'
import type { CounterName } from './stored.ts'

/** One run of a window. */
export interface Run {
  readonly seconds: number
  readonly startedAt: number
  used: number
}

/**
 * The arithmetic of the contract once more, as plainly as possible and independent of the code that it checks: every
 * run of every window since the beginning, and what was used in it.
 */
export class Books {
  readonly #runs = new Map<string, Run[]>()

  charge({ user, category, cost, limits, forced }: Charge, at: number): Decision {
    const own = limits.personal.map((of) => ({ ...of, name: { user, category } }))
    const all = limits.global?.map((of) => ({ ...of, name: { user: null, category } })) ?? null
    const both = [...own, ...(all ?? [])]
    const fits = both.every(({ name, window, limit }) => this.#usage(name, window.seconds, at).used + cost <= limit)
    const accepted = fits || forced === true
    if (accepted) for (const { name, window } of both) this.#runAt(name, window.seconds, at).used += cost
    const usage = ({ name, window }: (typeof both)[number]): Usage => this.#usage(name, window.seconds, at)
    return { accepted, at, personal: own.map(usage), global: all?.map(usage) ?? null }
  }

  /** Takes a cost out of the runs that a decision names. */
  giveBack({ user, category, cost, limits }: Charge, { personal, global }: Decision): void {
    const takeBack = (name: CounterName, seconds: number, usage: Usage | undefined): void => {
      const run = this.#all(name).find((each) => each.seconds === seconds && each.startedAt === usage?.startedAt)
      if (run !== undefined) run.used = Math.max(0, run.used - cost)
    }
    limits.personal.forEach(({ window }, i) => {
      takeBack({ user, category }, window.seconds, personal[i])
    })
    if (global === null) return
    limits.global?.forEach(({ window }, i) => {
      takeBack({ user: null, category }, window.seconds, global[i])
    })
  }

  running(name: CounterName, at: number): Run[] {
    return this.#all(name).filter((run) => at < run.startedAt + run.seconds * 1000)
  }

  /** When the next run of a window ends, of those that run. */
  nextEnd(at: number): number {
    const ends = [...this.#runs.values()].flat().map((run) => run.startedAt + run.seconds * 1000)
    return Math.min(...ends.filter((end) => at < end))
  }

  #all({ user, category }: CounterName): Run[] {
    const key = JSON.stringify([user, category])
    const known = this.#runs.get(key) ?? []
    this.#runs.set(key, known)
    return known
  }

  #usage(name: CounterName, seconds: number, at: number): Usage {
    const { startedAt, used } = this.running(name, at).find((run) => run.seconds === seconds) ?? {
      startedAt: 0,
      used: 0,
    }
    return { startedAt, used }
  }

  #runAt(name: CounterName, seconds: number, at: number): Run {
    const known = this.running(name, at).find((run) => run.seconds === seconds)
    if (known !== undefined) return known
    const run = { seconds, startedAt: at, used: 0 }
    this.#all(name).push(run)
    return run
  }
}
