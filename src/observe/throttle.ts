/** Reports a frequent event, which may happen thousands of times in a second, only a few times. */
export interface Throttle<T> {
  /** The first event of a key is reported at once. Further ones within the interval are reported as one, with their count. */
  add(key: string, latest: T): void
  /** Reports the events that are still unreported, and starts anew. */
  close(): void
}

interface Unreported<T> {
  latest: T
  count: number
}

function reportAll<T>(entries: Iterable<Unreported<T>>, report: (latest: T, count: number) => void): void {
  for (const entry of entries) {
    const { latest, count } = entry
    entry.count = 0
    if (count > 0) report(latest, count)
  }
}

/**
 * @param intervalMs at most one `report` for each key in this time, in milliseconds
 * @param most keys at a time: events of further keys are not reported. Default any number
 */
export function createThrottle<T>(
  intervalMs: number,
  report: (latest: T, count: number) => void,
  most = Number.POSITIVE_INFINITY,
): Throttle<T> {
  const seen = new Map<string, Unreported<T> & { readonly timer: NodeJS.Timeout }>()

  function add(key: string, latest: T): void {
    const entry = seen.get(key)
    if (entry !== undefined) {
      entry.latest = latest
      entry.count++
      return
    }
    if (seen.size >= most) return
    seen.set(key, { latest, count: 0, timer: setInterval(() => tick(key), intervalMs).unref() })
    report(latest, 1)
  }

  /** A key without an event in a whole interval is forgotten, so its next event is reported at once. */
  function tick(key: string): void {
    const entry = seen.get(key)
    if (entry === undefined) return
    if (entry.count === 0) forget(key, entry.timer)
    else report(entry.latest, entry.count)
    entry.count = 0
  }

  function forget(key: string, timer: NodeJS.Timeout): void {
    clearInterval(timer)
    seen.delete(key)
  }

  function close(): void {
    reportAll(seen.values(), report)
    for (const [key, { timer }] of seen) forget(key, timer)
  }

  return { add, close }
}

/**
 * A throttle for events that somebody may look for one by one: up to `most` events of a key within an interval are reported at once. Further
 * events are reported as one at the end of the interval, with their count.
 * @param intervalMs the interval in milliseconds, the same for all keys
 */
export function createAllowance<T>(
  intervalMs: number,
  most: number,
  report: (latest: T, count: number) => void,
): Throttle<T> {
  const reported = new Map<string, number>()
  const others = new Map<string, Unreported<T>>()
  let timer: NodeJS.Timeout | undefined

  function add(key: string, latest: T): void {
    timer ??= setInterval(begin, intervalMs).unref()
    const count = reported.get(key) ?? 0
    if (count < most) {
      reported.set(key, count + 1)
      report(latest, 1)
    } else others.set(key, { latest, count: (others.get(key)?.count ?? 0) + 1 })
  }

  /** Begins the next interval. */
  function begin(): void {
    reportAll(others.values(), report)
    if (reported.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
    others.clear()
    reported.clear()
  }

  function close(): void {
    begin()
    clearInterval(timer)
    timer = undefined
  }

  return { add, close }
}

/**
 * A throttle for events that follow from each other, like an outage and its end. All keys share one interval. Unreported events are
 * reported in the order in which they last happened, also before the event of a new key. So the last report is of the last event.
 *
 * @param isUnordered whether the order of an event among others like it does not matter: if ten ways to fail had to keep their order, they
 *   would be fifty lines
 */
export function createOrderedThrottle<T>(
  intervalMs: number,
  report: (latest: T, count: number) => void,
  isUnordered: (it: T) => boolean,
): Throttle<T> {
  const seen = new Map<string, Unreported<T>>()
  let timer: NodeJS.Timeout | undefined

  function add(key: string, latest: T): void {
    const entry = seen.get(key)
    if (entry === undefined) reportAll(before(latest), report)
    seen.delete(key)
    seen.set(key, { latest, count: entry === undefined ? 0 : entry.count + 1 })
    timer ??= setInterval(tick, intervalMs).unref()
    if (entry === undefined) report(latest, 1)
  }

  /** The events that must be reported before a new one. */
  function before(latest: T): Unreported<T>[] {
    return [...seen.values()].filter((other) => !(isUnordered(latest) && isUnordered(other.latest)))
  }

  /** A key without a new event is forgotten, so its next event is reported at once. */
  function tick(): void {
    for (const [key, { count }] of seen) if (count === 0) seen.delete(key)
    flush()
    if (seen.size === 0) stop()
  }

  function flush(): void {
    reportAll(seen.values(), report)
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function close(): void {
    flush()
    seen.clear()
    stop()
  }

  return { add, close }
}
