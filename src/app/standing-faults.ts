import { type Counting, count } from '../observe/counting.ts'
import type { Observer, StoreWarning } from '../observe/observation.ts'

/** Faults with which requests are served all the same, for as long as they last, and losses of the last hour. */
export interface StandingFaults {
  readonly observer: Observer
  /** A sentence for each fault. The log has its file and its cure. */
  reasons(): string[]
}

const WARNINGS: Readonly<Record<StoreWarning, string>> = {
  file_gone: 'the file of the store is gone or another one: what is charged ends with this process',
  eviction: 'Redis may evict counters: its maxmemory-policy is not noeviction',
  no_persistence: 'Redis keeps nothing on disk',
  no_password: 'Redis asks for no password',
  old_version: 'Redis is older than 6.2',
  no_rights: 'Redis cannot be looked at: its user may not run INFO',
  copy_unended: 'a copy into the store has not ended',
  far: 'Redis takes more than half of store_options.deadline to respond',
}

const REFUSED = {
  pair: (listener: string) => `the new certificate of the ${listener} listener is refused: the one before stays`,
  client_authorities: () => 'the new authorities of client certificates are refused: those before stay',
}

/** How long a loss of charges is shown, in milliseconds. It cannot be repaired, but an operator should see it. */
const LOST_MS = 60 * 60_000

/** An amount that was lost, with the time of the first loss since the epoch. It is shown until a moment of the monotonic clock. */
interface Loss {
  readonly amount: number
  readonly since: number
  readonly until: number
}

const LOSSES = {
  charges: (tokens: number, since: string) => `the store has forgotten up to ${tokens} tokens charged since ${since}`,
  keys: (keys: number, since: string) => `Redis has evicted ${keys} keys since ${since}, perhaps counters`,
}

/** @param now monotonic, in milliseconds */
export function createStandingFaults(now = () => performance.now()): StandingFaults {
  const reasons = new Map<string, string>()
  /** How many records cannot be read, by their list. */
  const unreadable = new Map<string, number>()
  const losses = new Map<keyof typeof LOSSES, Loss>()

  function lose(what: keyof typeof LOSSES, amount: number, since: number): void {
    const before = losses.get(what)
    const known = before !== undefined && now() < before.until ? before : { amount: 0, since }
    losses.set(what, { amount: known.amount + amount, since: known.since, until: now() + LOST_MS })
  }

  function lossReasons(): string[] {
    const told = [...losses].filter(([, { until }]) => now() < until)
    return told.map(([what, { amount, since }]) => LOSSES[what](amount, new Date(since).toISOString()))
  }

  const note: Counting = {
    store_warning: ({ warning }) => void reasons.set(warning, WARNINGS[warning]),
    store_warning_over: ({ warning }) => void reasons.delete(warning),
    unreadable_record: ({ list }) => void unreadable.set(list, (unreadable.get(list) ?? 0) + 1),
    unreadable_record_over: ({ list }) => void unreadable.set(list, (unreadable.get(list) ?? 1) - 1),
    charges_lost: ({ tokens, since }) => lose('charges', tokens, since),
    keys_evicted: ({ keys }) => lose('keys', keys, Date.now()),
    certificate_refused: ({ files, listener, file }) =>
      void reasons.set(`${files} ${listener} ${file}`, REFUSED[files](listener)),
    certificate_loaded: ({ listener, file }) => void reasons.delete(`pair ${listener} ${file}`),
    client_authorities_loaded: ({ file }) => void reasons.delete(`client_authorities gateway ${file}`),
  }

  return {
    observer: function noteFaults(seen) {
      count(note, seen)
    },
    reasons: () => [...reasons.values(), ...lossReasons(), ...[...unreadable].flatMap(unreadableReason)],
  }
}

/** Does not name a record, because the reader may not be allowed to know users. */
function unreadableReason([list, records]: readonly [list: string, records: number]): string[] {
  return records > 0
    ? [`records of ${list} in the store cannot be read and are left out: ${records} (the log names them)`]
    : []
}
