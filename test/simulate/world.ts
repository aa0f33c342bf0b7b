import { createTimetable, repeatIn, type Timetable } from '../../src/lib/repeat.ts'
import type { Random } from './random.ts'

/** What has timers and sockets of its own, and may die: one start of a gateway, or Redis. */
export interface Actor {
  readonly name: string
  alive: boolean
  /** Its event loop does nothing until then. */
  stalledUntil: number
  /** How far its wall clock is off, in milliseconds. */
  clockOffsetMs: number
  readonly repeats: Timetable
}

export function createActor(name: string): Actor {
  return { name, alive: true, stalledUntil: 0, clockOffsetMs: 0, repeats: createTimetable() }
}

/** libuv runs what it read before immediates, and those before timers. */
const ORDER = { io: 0, immediate: 1, timer: 2 }

interface Scheduled {
  at: number
  readonly order: number
  readonly number: number
  readonly actor: Actor
  readonly run: () => unknown
  cancelled: boolean
}

const real = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate }
const realDateNow = Date.now
const realPerformanceNow = performance.now
const realRandom = Math.random

/**
 * One event after the other on a clock that only the events move. While it runs, the timers, clocks and random numbers
 * of the process are its own; the code under test uses them as ever. What happens in an event, its promises included,
 * happens in the name of the actor whose event it is.
 */
export class World {
  /** Milliseconds since the start. */
  now = 0
  readonly trace: string[] = []
  readonly nobody: Actor = createActor('world')
  /** In whose name the present event happens. */
  actor: Actor = this.nobody
  readonly random: Random
  /** The wall clock at the start, in whole milliseconds since the epoch. */
  readonly epoch: number
  readonly #events: Scheduled[] = []
  #number = 0
  #failure: Error | null = null

  constructor(random: Random, epoch: number) {
    this.random = random
    this.epoch = epoch
  }

  /** Writes a line of the story. */
  tell(line: string): void {
    this.trace.push(`${this.now.toFixed(3).padStart(10)}  ${line}`)
  }

  /** Ends the run: something happened that must not. */
  fail(what: string): void {
    this.tell(`WRONG: ${what}`)
    this.#failure ??= new Error(what)
  }

  after(ms: number, run: () => unknown, actor: Actor = this.actor, kind: keyof typeof ORDER = 'io'): Scheduled {
    const event = { at: this.now + ms, order: ORDER[kind], number: ++this.#number, actor, run, cancelled: false }
    this.#insert(event)
    return event
  }

  /** Runs all events until a moment. @throws what `fail` was told */
  async runUntil(end: number): Promise<void> {
    const restore = this.#takeOver()
    try {
      for (;;) {
        const event = this.#events[0]
        if (event === undefined || event.at > end) break
        this.#events.shift()
        await this.#happen(event)
        this.check()
      }
      this.now = end
    } finally {
      restore()
    }
  }

  /** @throws what `fail` was told first */
  check(): void {
    if (this.#failure !== null) throw this.#failure
  }

  async #happen(event: Scheduled): Promise<void> {
    const { actor } = event
    if (event.cancelled || !actor.alive) return
    this.now = Math.max(this.now, event.at)
    if (actor.stalledUntil > this.now) {
      event.at = actor.stalledUntil
      this.#insert(event)
      return
    }
    this.actor = actor
    await event.run()
    // All promises and ticks that follow run before an immediate of the real event loop does.
    await new Promise<void>((resolve) => real.setImmediate(resolve))
    this.actor = this.nobody
  }

  /** Few events wait at a time: a sorted list is all it takes. */
  #insert(event: Scheduled): void {
    let low = 0
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(this.#events[middle] as Scheduled, event)) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
  }

  #takeOver(): () => void {
    const timer = (run: (...args: unknown[]) => void, ms: number | undefined, args: unknown[], again: boolean): Timer =>
      new Timer(this, run, ms, args, again)
    const clear = (timer: unknown): void => {
      if (timer instanceof Timer) timer.close()
    }
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number, ...args: unknown[]) => timer(run, ms, args, false),
      setInterval: (run: () => void, ms?: number, ...args: unknown[]) => timer(run, ms, args, true),
      setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) =>
        this.after(0, () => void run(...args), this.actor, 'immediate'),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: (event: Scheduled | undefined) => {
        if (event !== undefined) event.cancelled = true
      },
    })
    repeatIn(() => this.actor.repeats)
    Date.now = () => Math.floor(this.epoch + this.now + this.actor.clockOffsetMs)
    performance.now = () => this.now
    Math.random = () => this.random.next()
    return () => {
      Object.assign(globalThis, real)
      Date.now = realDateNow
      performance.now = realPerformanceNow
      Math.random = realRandom
    }
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.at - b.at < 0 || (a.at === b.at && (a.order - b.order || a.number - b.number) < 0)
}

/** Stands for a Timeout of Node. */
class Timer {
  readonly #world: World
  readonly #run: () => void
  readonly #ms: number
  readonly #actor: Actor
  #event: Scheduled

  constructor(
    world: World,
    run: (...args: unknown[]) => void,
    ms: number | undefined,
    args: unknown[],
    again: boolean,
  ) {
    this.#world = world
    this.#ms = ms !== undefined && ms >= 1 ? Math.trunc(ms) : 1
    this.#actor = world.actor
    this.#run = () => {
      if (again) this.#event = this.#arm()
      run(...args)
    }
    this.#event = this.#arm()
  }

  /** Node counts from the whole millisecond before now, so that a timer may be early by a part of one, and is late by a little. */
  #arm(): Scheduled {
    const { now, random } = this.#world
    return this.#world.after(Math.floor(now) + this.#ms - now + random.next() / 2, this.#run, this.#actor, 'timer')
  }

  refresh(): this {
    this.close()
    this.#event = this.#arm()
    return this
  }

  close(): this {
    this.#event.cancelled = true
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}
