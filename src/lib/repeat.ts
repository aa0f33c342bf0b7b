/** A function that is called again and again. */
interface Repeated {
  readonly act: (lateMs: number) => void
  readonly everyMs: number
  /** The next call, in monotonic milliseconds. */
  due: number
}

/** How much too early a timer may fire, in milliseconds, because the event loop counts whole milliseconds. */
const EARLY_MS = 1

/**
 * Calls again and again, as an interval that does not keep the process alive. Calls come at multiples of the interval since the process
 * began. So calls that come every second, two or ten share one turn of the event loop, and an idle process is woken once for all of them.
 *
 * @param act gets how late it is called, in milliseconds
 * @returns a function that ends the calls
 */
export function repeat(act: (lateMs: number) => void, everyMs: number): () => void {
  return tableOf().repeat(act, everyMs)
}

/** The functions that are repeated in one process, with one timer for all. */
export interface Timetable {
  readonly repeat: typeof repeat
}

const own = createTimetable()
let tableOf = (): Timetable => own

/** For many processes that are simulated in one: each has its own timetable. @param of gives that of the present process */
export function repeatIn(of: () => Timetable): void {
  tableOf = of
}

export function createTimetable(): Timetable {
  const all = new Set<Repeated>()
  let timer: NodeJS.Timeout | undefined

  function wait(): void {
    clearTimeout(timer)
    const next = Math.min(...[...all].map(({ due }) => due))
    timer = setTimeout(callDue, Math.max(1, Math.ceil(next - performance.now()))).unref()
  }

  function callDue(): void {
    const now = performance.now()
    const calls = [...all].flatMap((one) =>
      one.due <= now + EARLY_MS ? { one, lateMs: Math.max(0, now - one.due) } : [],
    )
    for (const { one } of calls) one.due = nextDue(now + EARLY_MS, one.everyMs)
    if (all.size > 0) wait()
    for (const { one, lateMs } of calls) if (all.has(one)) one.act(lateMs)
  }

  return {
    repeat(act, everyMs) {
      const repeated = { act, everyMs, due: nextDue(performance.now(), everyMs) }
      all.add(repeated)
      wait()
      return () => {
        all.delete(repeated)
        if (all.size === 0) clearTimeout(timer)
      }
    },
  }
}

function nextDue(now: number, everyMs: number): number {
  return (Math.floor(now / everyMs) + 1) * everyMs
}
