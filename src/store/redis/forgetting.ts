import { userOfPlace } from '../../alerts/alert.ts'
import { type AuditEntry, type Forgetting, KINDS } from '../../control/control-store.ts'
import { entryWithout, FORGOTTEN_MS, newSalt, valueWithout } from '../../control/forgetting.ts'
import { isObject } from '../../lib/json.ts'
import { call, pairsOf } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** An edit as `forget` of control.lua takes it, but with the name of its key. */
type Edit =
  | readonly [key: string, kind: 'key']
  | readonly [key: string, kind: 'text', old: string, text: string]
  | readonly [key: string, kind: 'hash', field: string, old: string | false, text: string | false]
  | readonly [key: string, kind: 'sorted', member: string, score: string | false, text: string | false]

/** Everything under our keys that names a user, as the edits that take it back. It is looked for in steps. @throws StoreError */
export async function editsOf(redis: RedisClient, keys: Keys, forgetting: Forgetting): Promise<readonly Edit[]> {
  const { user } = forgetting
  const own = [keys.user(user), keys.history(user), keys.known(user), keys.membership(user)]
  const found: Edit[] = (await thereOf(own)).map((key) => [key, 'key'])

  async function thereOf(names: readonly string[]): Promise<readonly string[]> {
    const values = await call(() => redis.mgetBuffer(...names))
    return names.filter((_, i) => values[i] != null)
  }

  // A key of another type than ours names nobody for us, and stays.
  async function eachField(key: string, visit: (field: string, text: string) => void): Promise<void> {
    let cursor = '0'
    do {
      const [next, flat] = await call(
        () => redis.hscan(key, cursor, 'COUNT', STEP),
        () => ['0', []],
      )
      for (const [field, text] of pairsOf(flat)) visit(field, text)
      cursor = next
    } while (cursor !== '0')
  }

  async function eachMember(key: string, visit: (member: string, score: string) => void): Promise<void> {
    for (let from = 0; ; from += STEP) {
      const flat = await call(
        () => redis.zrange(key, String(from), String(from + STEP - 1), 'WITHSCORES'),
        () => [],
      )
      for (const [member, score] of pairsOf(flat)) visit(member, score)
      if (flat.length < 2 * STEP) return
    }
  }

  async function eachKey(beginning: string, visit: (key: string) => void | Promise<void>): Promise<void> {
    const pattern = `${beginning.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
    let cursor = '0'
    do {
      const [next, names] = await call(() => redis.scanKeys(keys.version, cursor, pattern, STEP))
      for (const name of new Set(names)) await visit(name)
      cursor = next
    } while (cursor !== '0')
  }

  /** A version, a blank, and a value that may have the name in what somebody wrote. */
  function withoutName(text: string): string | null {
    const space = text.indexOf(' ')
    const value = parsed(text.slice(space + 1))
    const next = JSON.stringify(valueWithout(value, forgetting))
    return value === null || next === JSON.stringify(value) ? null : `${text.slice(0, space)} ${next}`
  }

  await eachField(keys.tokens, (hash, text) => {
    const record = parsed(text)
    if (record?.user !== user) return
    found.push([keys.tokens, 'hash', hash, text, false], [keys.tokenIds, 'hash', String(record.id), hash, false])
  })
  const ofOrganisations = [keys.organisationOverrides, keys.replacedOrganisationOverrides]
  for (const key of [keys.overrides, keys.replacedOverrides, ...ofOrganisations]) {
    await eachField(key, (id, text) => {
      const isOwn = !ofOrganisations.includes(key) && id === user
      const next = isOwn ? null : withoutName(text)
      if (isOwn || next !== null) found.push([key, 'hash', id, text, next ?? false])
    })
  }
  const settings = await call(
    () => redis.get(keys.settings),
    () => null,
  )
  const nextSettings = settings === null ? null : withoutName(settings)
  if (settings !== null && nextSettings !== null) found.push([keys.settings, 'text', settings, nextSettings])
  for (const key of [keys.audit, ...KINDS.map(keys.olderAudit)]) {
    await eachMember(key, (text, version) => {
      const next = entryTextWithout(text, forgetting)
      if (next !== null) found.push([key, 'sorted', text, version, next])
    })
  }
  await eachField(keys.refusals, (id, text) => {
    if (parsed(text)?.user !== user) return
    found.push([keys.refusals, 'hash', id, false, false], [keys.refusalTimes, 'sorted', id, false, false])
  })
  await eachKey(keys.claim(''), (key) => {
    if (userOfPlace(key.slice(keys.claim('').length)) === user) found.push([key, 'key'])
  })
  await eachKey(keys.alertEvents(''), (key) => {
    const alert = key.slice(keys.alertEvents('').length)
    return eachField(key, (field, text) => {
      const happening = field.startsWith('h:') ? parsed(text) : null
      if (happening?.scope !== 'personal' || happening.subject !== user) return
      const id = field.slice(2)
      found.push([key, 'hash', field, false, false], [key, 'hash', `s:${id}`, false, false])
      for (const set of [keys.alertDue(alert), keys.alertAll(alert), keys.alertDone(alert)]) {
        found.push([set, 'sorted', id, false, false])
      }
    })
  })
  return found
}

/** Fields, members or keys that one step looks at. */
const STEP = 500

/** `null` for what is no JSON object: it counts as nothing, and ends by itself or is mended by hand. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function entryTextWithout(text: string, forgetting: Forgetting): string | null {
  const entry = parsed(text) as AuditEntry | null
  if (entry === null) return null
  const next = JSON.stringify(entryWithout(entry, forgetting))
  return next === JSON.stringify(entry) ? null : next
}

/**
 * The edits in the words of control.lua: their keys, behind that of the counters, and the rest as JSON.
 * @param again whether the audit has its entry already
 */
export function encodeForgetting(
  { user }: Forgetting,
  edits: readonly Edit[],
  keys: Keys,
  again: boolean,
): { readonly places: readonly string[]; readonly details: string } {
  const places = [keys.user(user), ...new Set(edits.map(([key]) => key))]
  // A counter may be the place of an edit too, which then has the second position.
  const positions = new Map(places.map((key, i) => [key, i + 1]))
  const numbered = edits.map(([key, ...rest]) => [positions.get(key), ...rest])
  return { places, details: JSON.stringify({ salt: newSalt(), keep: FORGOTTEN_MS, edits: numbered, again }) }
}
