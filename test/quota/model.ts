import type { Charge, Decision } from '../../src/quota/charge.ts'
import type { Usage } from '../../src/quota/window.ts'

/**
 * The contract's rules written down a second time, as plainly as possible: it remembers every accepted charge for ever
 * and adds them up anew for each question. Slow, and independent of the arithmetic it checks.
 */
export class Model {
  readonly #runs: { of: string; seconds: number; startedAt: number; costs: Map<number, number> }[] = []
  #charges = 0

  /** Decides a charge at a time; an accepted one gets a number by which it can be given back. */
  charge(charge: Charge, now: number): { decision: Decision; number: number } {
    const windows = this.#windowsOf(charge)
    const fits = windows.every(({ of, seconds, limit }) => this.#usage(of, seconds, now).used + charge.cost <= limit)
    const accepted = fits || charge.forced === true
    const number = ++this.#charges
    if (accepted) for (const { of, seconds } of windows) this.#runAt(of, seconds, now).costs.set(number, charge.cost)
    const usages = windows.map(({ of, seconds }) => this.#usage(of, seconds, now))
    const own = charge.limits.personal.length
    return {
      decision: {
        accepted,
        at: now,
        personal: usages.slice(0, own),
        global: charge.limits.global === null ? null : usages.slice(own),
      },
      number,
    }
  }

  refund(number: number): void {
    for (const run of this.#runs) run.costs.delete(number)
  }

  #windowsOf({ user, category, limits }: Charge): { of: string; seconds: number; limit: number }[] {
    const own = limits.personal.map(({ window, limit }) => ({
      of: JSON.stringify([user, category]),
      seconds: window.seconds,
      limit,
    }))
    const all = (limits.global ?? []).map(({ window, limit }) => ({
      of: JSON.stringify([category]),
      seconds: window.seconds,
      limit,
    }))
    return [...own, ...all]
  }

  #usage(of: string, seconds: number, now: number): Usage {
    const run = this.#running(of, seconds, now)
    if (run === undefined) return { startedAt: 0, used: 0 }
    return { startedAt: run.startedAt, used: [...run.costs.values()].reduce((sum, cost) => sum + cost, 0) }
  }

  #runAt(of: string, seconds: number, now: number): { costs: Map<number, number> } {
    const known = this.#running(of, seconds, now)
    if (known !== undefined) return known
    const run = { of, seconds, startedAt: now, costs: new Map<number, number>() }
    this.#runs.push(run)
    return run
  }

  #running(of: string, seconds: number, now: number) {
    return this.#runs.find(
      (r) => r.of === of && r.seconds === seconds && r.startedAt <= now && now < r.startedAt + seconds * 1000,
    )
  }
}
