/** A bounded memory of values that each have their own end. */
export interface Cache<V> {
  /** The value, as long as `now < until`. */
  get(key: string, now: number): V | undefined
  /** Remembers a value until a moment in milliseconds, on the clock of `now`. A value whose end has passed is not kept. */
  set(key: string, value: V, until: number, now: number): void
  delete(key: string): void
  clear(): void
  readonly size: number
}

interface Entry<V> {
  readonly key: string
  readonly value: V
  /** When the entry was put in. If the clock shows an earlier time, it was set back, and the end of the entry means nothing. */
  readonly since: number
  readonly until: number
  used: boolean
}

/**
 * Evicts by second chance: the oldest entry goes, unless it was used since the last look at it. A hit then only sets a flag, where an LRU
 * would delete and insert.
 *
 * @param max the most entries, 0 or more
 * @param placeOf the place of an entry: of two keys with one place the later replaces the other. Default a place for each key, for which V8
 * reads the whole text of each key. For keys that are long and always new see `endOf`
 */
export function createCache<V>(max: number, placeOf: (key: string) => string | number = itself): Cache<V> {
  const entries = new Map<string | number, Entry<V>>()

  function get(key: string, now: number): V | undefined {
    const place = placeOf(key)
    const entry = entries.get(place)
    if (entry === undefined || entry.key !== key) return undefined
    if (now >= entry.until || now < entry.since) {
      entries.delete(place)
      return undefined
    }
    entry.used = true
    return entry.value
  }

  function set(key: string, value: V, until: number, now: number): void {
    const place = placeOf(key)
    entries.delete(place)
    if (max < 1 || until <= now) return
    if (entries.size >= max) evict(now)
    entries.set(place, { key, value, since: now, until, used: false })
  }

  /** Drops one entry. Each pass clears a flag or drops an entry, so the loop ends. */
  function evict(now: number): void {
    for (const [place, entry] of entries) {
      entries.delete(place)
      if (!entry.used || now >= entry.until) return
      entry.used = false
      entries.set(place, entry)
    }
  }

  return {
    get,
    set,
    delete: (key) => {
      const place = placeOf(key)
      if (entries.get(place)?.key === key) entries.delete(place)
    },
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}

const itself = (key: string): string => key

/** Characters at the end of a key by which `endOf` distinguishes keys. */
const DISTINCT_END = 8

/**
 * A number of 32 bits from the end of a key. Credentials differ at their end, which is part of a signature or a checksum of random
 * characters. With it a cache takes a third of the time for a header that has a JWT of 300 characters.
 */
export function endOf(key: string): number {
  let number = 0
  for (let i = Math.max(0, key.length - DISTINCT_END); i < key.length; i++) {
    number = (Math.imul(number, 31) + key.charCodeAt(i)) | 0
  }
  return number
}
