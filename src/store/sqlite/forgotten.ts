import type { DatabaseSync } from 'node:sqlite'
import { userOfPlace } from '../../alerts/alert.ts'
import type { AuditEntry, Forgetting } from '../../control/control-store.ts'
import { digestOf, entryWithout, FORGOTTEN_MS, newSalt, valueWithout } from '../../control/forgetting.ts'
import { isObject } from '../../lib/json.ts'
import { endsAt, running } from '../../quota/counter.ts'
import { isAccount } from '../../quota/grant.ts'
import { pack, unpack } from '../packed-value.ts'

/** What is left of users who were forgotten: the windows that ran then, under a salted hash of the name. */
export interface ForgottenRows {
  /** The windows of a user that ran when the user was forgotten. The next charge moves them back to the name. */
  windowsOf(user: string, category: string, now: number): Uint8Array | undefined
  /** Stores the windows of a user who is back, or who got something back meanwhile. @param windows `null` for none */
  replace(user: string, category: string, windows: Uint8Array | null): void
  /** When the user was forgotten, in milliseconds since the epoch; `null` if never, or if that is no longer known. */
  since(user: string): number | null
}

interface Left {
  readonly windows: Uint8Array
  readonly since: number
  readonly ends: number
}

/** Marks the row that says when a user was forgotten. No category has this name. */
const SINCE = ''

/** Call the functions within a transaction. */
export function forgottenRows(database: DatabaseSync): ForgottenRows {
  const sql = {
    salt: database.prepare('SELECT salt FROM forgotten_salt'),
    one: database.prepare('SELECT windows, since, ends FROM forgotten WHERE digest = ? AND category = ?'),
    drop: database.prepare('DELETE FROM forgotten WHERE digest = ? AND category = ?'),
    set: database.prepare('UPDATE forgotten SET windows = ? WHERE digest = ? AND category = ?'),
  }

  /** Usually nobody was forgotten. */
  function placeOf(user: string): string | null {
    const row = sql.salt.get() as { salt: string } | undefined
    return row === undefined ? null : digestOf(row.salt, user)
  }

  function find(user: string, category: string): Left | undefined {
    const place = placeOf(user)
    return place === null ? undefined : (sql.one.get(place, category) as Left | undefined)
  }

  return {
    windowsOf(user, category, now) {
      const left = find(user, category)
      return left !== undefined && left.ends > now ? left.windows : undefined
    },
    replace(user, category, windows) {
      const place = placeOf(user) ?? ''
      if (windows === null) sql.drop.run(place, category)
      else sql.set.run(windows, place, category)
    },
    since: (user) => find(user, SINCE)?.since ?? null,
  }
}

/**
 * Also removes deleted content from the disk. SQLite would leave its bytes in free pages, and in the log until it begins anew. If somebody
 * is reading now, a later checkpoint does that.
 */
export async function overwriting<T>(database: DatabaseSync, work: () => Promise<T>): Promise<T> {
  database.exec('PRAGMA secure_delete = ON')
  try {
    return await work()
  } finally {
    database.exec('PRAGMA secure_delete = FAST')
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  }
}

/** The columns that are read, of which each table has some. */
interface Row {
  readonly id: string
  readonly happening: string
  readonly episode: string
  readonly version: number
  readonly before: string
  readonly after: string
  readonly edition: number
  readonly user: string
  readonly organisation: string
  readonly value: string
}

/** Removes everything that names a user. Call it within a transaction. */
export function sqliteForgetting(database: DatabaseSync, clock: () => number): (forgetting: Forgetting) => void {
  const sql = statements(database)

  /** Windows that run go on under the hash. */
  function keepWindows(user: string, now: number): void {
    const known = sql.salt.get() as { salt: string; ends: number } | undefined
    const salt = known?.salt ?? newSalt()
    const place = digestOf(salt, user)
    let last = now + FORGOTTEN_MS
    for (const { category, windows } of sql.counters.all(user) as unknown as Counted[]) {
      // Grants are deleted with the user, so what was taken from them is not needed.
      const left = isAccount(category) ? [] : running(unpack(windows), now)
      if (left.length === 0) continue
      const ends = endsAt(left)
      last = Math.max(last, ends)
      sql.keep.run(place, category, pack(left), now, ends)
    }
    sql.keep.run(place, SINCE, pack([]), now, now + FORGOTTEN_MS)
    sql.setSalt.run(salt, Math.max(known?.ends ?? 0, last))
  }

  /** Rewrites a JSON value if it contains the name. @param set gets the value without the name */
  function rewrite(value: unknown, forgetting: Forgetting, set: (json: string) => void): void {
    const known = parsed(value)
    const next = JSON.stringify(valueWithout(known, forgetting))
    if (known !== null && next !== JSON.stringify(known)) set(next)
  }

  function rewriteAudit(forgetting: Forgetting): void {
    for (const row of sql.audit.all() as unknown as Row[]) {
      const [from, to] = [parsed(row.before), parsed(row.after)]
      const entry = { ...row, from, to } as unknown as AuditEntry
      const next = entryWithout(entry, forgetting)
      const isSame = next.subject === entry.subject && next.why === entry.why
      const [before, after] = [JSON.stringify(next.from), JSON.stringify(next.to)]
      if (isSame && before === JSON.stringify(from) && after === JSON.stringify(to)) continue
      sql.setEntry.run(
        next.subject,
        next.why,
        from === null ? row.before : before,
        to === null ? row.after : after,
        row.version,
      )
    }
  }

  return function forget(forgetting) {
    const { user } = forgetting
    keepWindows(user, clock())
    for (const statement of sql.own) statement.run(user)
    for (const { id } of sql.claims.all() as unknown as Row[]) if (userOfPlace(id) === user) sql.dropClaim.run(id)
    for (const { id, happening } of sql.events.all() as unknown as Row[]) {
      const about = parsed(happening)
      if (about?.scope === 'personal' && about.subject === user) sql.dropEvent.run(id)
    }
    for (const { id, episode } of sql.refusals.all() as unknown as Row[]) {
      if (parsed(episode)?.user === user) sql.dropRefusal.run(id)
    }
    rewriteAudit(forgetting)
    for (const { value } of sql.settings.all() as unknown as Row[]) {
      rewrite(value, forgetting, (json) => void sql.setSettings.run(json))
    }
    for (const { edition, user: other, value } of sql.overrides.all() as unknown as Row[]) {
      rewrite(value, forgetting, (json) => void sql.setOverride.run(json, edition, other))
    }
    for (const { id, value } of sql.grants.all() as unknown as Row[]) {
      if (parsed(value)?.user === user) sql.dropGrant.run(id)
      else rewrite(value, forgetting, (json) => void sql.setGrant.run(json, id))
    }
    for (const { edition, organisation, value } of sql.ofOrganisations.all() as unknown as Row[]) {
      rewrite(value, forgetting, (json) => void sql.setOfOrganisation.run(json, edition, organisation))
    }
  }
}

interface Counted {
  readonly category: string
  readonly windows: Uint8Array
}

/** `null` if the value is no JSON object. */
function parsed(value: unknown): Record<string, unknown> | null {
  try {
    const known: unknown = JSON.parse(String(value))
    return isObject(known) ? known : null
  } catch {
    return null
  }
}

function statements(database: DatabaseSync) {
  const of = (table: string, where = 'user = ?') => database.prepare(`DELETE FROM ${table} WHERE ${where}`)
  return {
    salt: database.prepare('SELECT salt, ends FROM forgotten_salt'),
    setSalt: database.prepare('INSERT OR REPLACE INTO forgotten_salt (id, salt, ends) VALUES (1, ?, ?)'),
    counters: database.prepare('SELECT category, windows FROM counters WHERE scope = 0 AND user = ?'),
    keep: database.prepare(
      'INSERT OR REPLACE INTO forgotten (digest, category, windows, since, ends) VALUES (?, ?, ?, ?, ?)',
    ),
    own: [
      of('counters', 'scope = 0 AND user = ?'),
      of('history', 'scope = 0 AND user = ?'),
      of('endings', `list IN ('known', 'member') AND id = ?`),
      of('overrides'),
      of('tokens'),
    ],
    claims: database.prepare(`SELECT id FROM endings WHERE list = 'claim'`),
    dropClaim: of('endings', `list = 'claim' AND id = ?`),
    events: database.prepare('SELECT id, happening FROM alert_events'),
    dropEvent: of('alert_events', 'id = ?'),
    refusals: database.prepare('SELECT id, episode FROM refusals'),
    dropRefusal: of('refusals', 'id = ?'),
    audit: database.prepare('SELECT version, at, who, what, subject, before, after, why FROM audit'),
    setEntry: database.prepare('UPDATE audit SET subject = ?, why = ?, before = ?, after = ? WHERE version = ?'),
    settings: database.prepare('SELECT value FROM settings'),
    setSettings: database.prepare('UPDATE settings SET value = ?'),
    overrides: database.prepare('SELECT edition, user, value FROM overrides'),
    setOverride: database.prepare('UPDATE overrides SET value = ? WHERE edition = ? AND user = ?'),
    grants: database.prepare('SELECT id, value FROM grants'),
    setGrant: database.prepare('UPDATE grants SET value = ? WHERE id = ?'),
    dropGrant: of('grants', 'id = ?'),
    ofOrganisations: database.prepare('SELECT edition, organisation, value FROM organisation_overrides'),
    setOfOrganisation: database.prepare(
      'UPDATE organisation_overrides SET value = ? WHERE edition = ? AND organisation = ?',
    ),
  }
}
