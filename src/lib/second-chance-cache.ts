/** A bounded memory of values that each have their own end. */
export interface Cache<V> {
  /** The value, while `now < until`. */
  get(key: string, now: number): V | undefined
  /** Remembers a value until a moment in milliseconds, on the clock of `now`; one that is over already is not kept. */
  set(key: string, value: V, until: number, now: number): void
  delete(key: string): void
  clear(): void
  readonly size: number
}

interface Entry<V> {
  readonly value: V
  /** When it was put in. Before that (the clock was set back) its end says nothing. */
  readonly since: number
  readonly until: number
  used: boolean
}

/**
 * Evicts by second chance: the oldest entry goes unless it was used since it was last looked at. A hit then only
 * sets a flag; an LRU would delete and insert on each.
 *
 * @param max most entries, 0 or more
 */
export function createCache<V>(max: number): Cache<V> {
  const entries = new Map<string, Entry<V>>()

  function get(key: string, now: number): V | undefined {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    if (now >= entry.until || now < entry.since) {
      entries.delete(key)
      return undefined
    }
    entry.used = true
    return entry.value
  }

  function set(key: string, value: V, until: number, now: number): void {
    entries.delete(key)
    if (max < 1 || until <= now) return
    if (entries.size >= max) evict(now)
    entries.set(key, { value, since: now, until, used: false })
  }

  /** Drops one entry at least. Each pass takes a flag away or drops, so it ends. */
  function evict(now: number): void {
    for (const [key, entry] of entries) {
      entries.delete(key)
      if (!entry.used || now >= entry.until) return
      entry.used = false
      entries.set(key, entry)
    }
  }

  return {
    get,
    set,
    delete: (key) => void entries.delete(key),
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
