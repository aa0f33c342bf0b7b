import type { Observer, StoreWarning } from '../observe/observation.ts'

/** What is wrong and does no harm yet, as long as it is so. */
export interface StandingFaults {
  readonly observer: Observer
  /** A sentence for each; the log has file and cure. */
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
  far: 'Redis takes more than half of store_options.deadline to answer',
}

const REFUSED = {
  pair: (listener: string) => `the new certificate of the ${listener} listener is refused: the one before stays`,
  client_authorities: () => 'the new authorities of client certificates are refused: those before stay',
}

/** How long a loss of charges is told, in milliseconds: it is not to be mended, and whoever looks after it should see it. */
const LOST_MS = 60 * 60_000

/** @param now monotonic, in milliseconds */
export function createStandingFaults(now = () => performance.now()): StandingFaults {
  const reasons = new Map<string, string>()
  /** How many records cannot be read, by their list. */
  const unreadable = new Map<string, number>()
  let lost: { readonly tokens: number; readonly since: number; readonly until: number } | null = null
  const lostReason = (): string[] =>
    lost !== null && now() < lost.until
      ? [`the store has forgotten up to ${lost.tokens} tokens charged since ${new Date(lost.since).toISOString()}`]
      : []
  return {
    observer: function noteFaults(seen) {
      switch (seen.type) {
        case 'store_warning':
          reasons.set(seen.warning, WARNINGS[seen.warning])
          break
        case 'store_warning_over':
          reasons.delete(seen.warning)
          break
        case 'unreadable_record':
          unreadable.set(seen.list, (unreadable.get(seen.list) ?? 0) + 1)
          break
        case 'unreadable_record_over':
          unreadable.set(seen.list, (unreadable.get(seen.list) ?? 1) - 1)
          break
        case 'charges_lost':
          lost = { tokens: seen.tokens + (lost?.tokens ?? 0), since: lost?.since ?? seen.since, until: now() + LOST_MS }
          break
        case 'certificate_refused':
          reasons.set(`${seen.files} ${seen.listener} ${seen.file}`, REFUSED[seen.files](seen.listener))
          break
        case 'certificate_loaded':
          reasons.delete(`pair ${seen.listener} ${seen.file}`)
          break
        case 'client_authorities_loaded':
          reasons.delete(`client_authorities gateway ${seen.file}`)
      }
    },
    reasons: () => [...reasons.values(), ...lostReason(), ...[...unreadable].flatMap(unreadableReason)],
  }
}

/** It names no record, since whoever asks for it may not know the users. */
function unreadableReason([list, records]: readonly [list: string, records: number]): string[] {
  return records > 0
    ? [`records of ${list} in the store cannot be read and are left out: ${records} (the log names them)`]
    : []
}
