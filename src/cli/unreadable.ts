import { scrub } from '../lib/scrub.ts'
import type { Observer } from '../observe/observation.ts'

/** The most records that are named. */
const MOST = 20

/** Prints each unreadable record of a store, which a command leaves out, to standard error. */
export function reportUnreadable(): Observer {
  const named = new Set<string>()
  return (seen) => {
    if (seen.type !== 'unreadable_record' || named.size >= MOST) return
    const key = `${seen.list} ${scrub(seen.id)}`
    if (named.has(key)) return
    named.add(key)
    console.error(`tollgate: ${key} cannot be read (${seen.kind}) and is left out`)
  }
}
