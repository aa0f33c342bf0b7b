import { GatheredNotes } from '../lib/gathered-notes.ts'
import { createCache } from '../lib/second-chance-cache.ts'
import type { AccessKeyStore } from './access-key-store.ts'

export interface AccessKeyUsesOptions {
  readonly store: Pick<AccessKeyStore, 'noteUses'>
  /** The time of the store, in milliseconds since the epoch. */
  readonly storeTime: () => number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** How often one process notes the use of the same key, in milliseconds. */
const EACH_MS = 5 * 60_000
/** How long uses gather before they are written together, in milliseconds. */
const GATHER_MS = 1000
/** The most keys for which this process remembers that their use was noted. */
const MOST = 50_000

/** Reports to the store, to within five minutes, when access keys were last used. No request waits for this. */
export class AccessKeyUses {
  readonly #storeTime: () => number
  readonly #now: () => number
  readonly #noted = createCache<true>(MOST)
  readonly #notes: GatheredNotes<number>

  constructor({ store, storeTime, now }: AccessKeyUsesOptions) {
    this.#storeTime = storeTime
    this.#now = now
    this.#notes = new GatheredNotes({ write: (uses) => store.noteUses(new Map(uses)), most: MOST, gatherMs: GATHER_MS })
  }

  /** @param digest the SHA-256 of the key, one character for each byte */
  note(digest: string): void {
    const now = this.#now()
    if (this.#noted.get(digest, now) !== undefined) return
    const hash = Buffer.from(digest, 'latin1').toString('hex')
    if (this.#notes.add(hash, this.#storeTime())) this.#noted.set(digest, true, now + EACH_MS, now)
  }

  /** Writes all uses that are not written yet. Never rejects. */
  close(): Promise<void> {
    return this.#notes.close()
  }
}
