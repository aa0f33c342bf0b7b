import { userOfPlace } from '../../alerts/alert.ts'
import { type AuditEntry, type Forgetting, KINDS } from '../../control/control-store.ts'
import { entryWithout, FORGOTTEN_MS, newSalt, valueWithout } from '../../control/forgetting.ts'
import { isObject } from '../../lib/json.ts'
import { call, pairsOf } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { keysBeginning } from './scanned-keys.ts'

/** An edit as `forget` of control.lua takes it, but with the name of the key instead of its position. */
type Edit =
  | readonly [key: string, kind: 'key']
  | readonly [key: string, kind: 'text', old: string, text: string]
  | readonly [key: string, kind: 'hash', field: string, old: string | false, text: string | false]
  | readonly [key: string, kind: 'sorted', member: string, score: string | false, text: string | false]

/** Looks in steps for everything under our keys that names a user. Returns the edits that remove it. @throws StoreError */
export async function editsOf(redis: RedisClient, keys: Keys, forgetting: Forgetting): Promise<readonly Edit[]> {
  const { user } = forgetting
  const own = [keys.user(user), keys.history(user), keys.ending('known', user), keys.ending('member', user)]
  const found: Edit[] = (await thereOf(redis, own)).map((key) => [key, 'key'])

  const { eachField, eachMember } = walkOf(redis)
  const hashes = new Set<string>()
  await eachField(keys.tokens, (hash, text) => {
    const record = parsed(text)
    if (record?.user !== user) return
    found.push([keys.tokens, 'hash', hash, text, false], [keys.tokenIds, 'hash', String(record.id), hash, false])
    hashes.add(hash)
  })
  if (hashes.size > 0) {
    await eachField(keys.tokenUses, (hash, at) => {
      if (hashes.has(hash)) found.push([keys.tokenUses, 'hash', hash, at, false])
    })
  }
  await eachField(keys.grants, (id, text) => {
    const isOwn = parsed(text.slice(text.indexOf(' ') + 1))?.user === user
    const next = isOwn ? null : withoutName(text, forgetting)
    // The user's own grant is deleted whatever it has become, because a grant never changes its owner.
    if (isOwn) found.push([keys.grants, 'hash', id, false, false])
    else if (next !== null) found.push([keys.grants, 'hash', id, text, next])
  })
  const ofOrganisations = [keys.organisationOverrides, keys.replacedOrganisationOverrides]
  for (const key of [keys.overrides, keys.replacedOverrides, ...ofOrganisations]) {
    await eachField(key, (id, text) => {
      const isOwn = !ofOrganisations.includes(key) && id === user
      const next = isOwn ? null : withoutName(text, forgetting)
      if (isOwn || next !== null) found.push([key, 'hash', id, text, next ?? false])
    })
  }
  const settings = await call(
    () => redis.get(keys.settings),
    () => null,
  )
  const nextSettings = settings === null ? null : withoutName(settings, forgetting)
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
  for await (const names of keysBeginning(redis, keys, keys.claim(''), STEP)) {
    const own = names.filter((key) => userOfPlace(key.slice(keys.claim('').length)) === user)
    found.push(...own.map((key): Edit => [key, 'key']))
  }
  for await (const names of keysBeginning(redis, keys, keys.alertEvents(''), STEP)) {
    for (const key of names)
      await eachField(key, (field, text) => found.push(...editsOfEvent(keys, user, key, field, text)))
  }
  return found
}

async function thereOf(redis: RedisClient, names: readonly string[]): Promise<readonly string[]> {
  const values = await call(() => redis.mgetBuffer(...names))
  return names.filter((_, i) => values[i] != null)
}

/** Goes through a key's content in steps. A key of another type contains no user for us, and stays. */
function walkOf(redis: RedisClient) {
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

  return { eachField, eachMember }
}

/** A text of a version, a blank and a value, in which somebody may have written the name. */
function withoutName(text: string, forgetting: Forgetting): string | null {
  const space = text.indexOf(' ')
  const value = parsed(text.slice(space + 1))
  const next = JSON.stringify(valueWithout(value, forgetting))
  return value === null || next === JSON.stringify(value) ? null : `${text.slice(0, space)} ${next}`
}

/** Finds an event about a window of the user, and the rest of its delivery. */
function editsOfEvent(keys: Keys, user: string, key: string, field: string, text: string): Edit[] {
  const happening = field.startsWith('h:') ? parsed(text) : null
  if (happening?.scope !== 'personal' || happening.subject !== user) return []
  const [alert, id] = [key.slice(keys.alertEvents('').length), field.slice(2)]
  return [
    ...[field, `s:${id}`].map((each): Edit => [key, 'hash', each, false, false]),
    ...[keys.alertDue, keys.alertAll, keys.alertDone].map((of): Edit => [of(alert), 'sorted', id, false, false]),
  ]
}

/** How many fields, members or keys one step looks at. */
const STEP = 500

/** `null` if the text is no JSON object. Such a text is ignored, and expires or is repaired by hand. */
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
 * The edits in the form of control.lua: their keys, which follow that of the counters, and everything else as JSON.
 * @param again whether the audit has the entry already
 */
export function encodeForgetting(
  { user }: Forgetting,
  edits: readonly Edit[],
  keys: Keys,
  again: boolean,
): { readonly places: readonly string[]; readonly details: string } {
  const places = [keys.user(user), ...new Set(edits.map(([key]) => key))]
  // The key of the counters may also be the place of an edit, which then gets the later position.
  const positions = new Map(places.map((key, i) => [key, i + 1]))
  const numbered = edits.map(([key, ...rest]) => [positions.get(key), ...rest])
  return { places, details: JSON.stringify({ salt: newSalt(), keep: FORGOTTEN_MS, edits: numbered, again }) }
}
