import { userOfPlace } from '../../alerts/kinds/windows.ts'
import { type Forgetting, KINDS } from '../../control/control-store.ts'
import { FORGOTTEN_MS, newSalt } from '../../control/forgetting.ts'
import { everyStep } from '../../lib/steps.ts'
import { type NamingList, objectIn, textLeft } from '../forgetting.ts'
import { call, pairsOf } from './calls.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'
import { keysBeginning, stepOfHash } from './scanned-keys.ts'

/** An edit as `forget` of control.lua takes it, but with the name of the key instead of its position. */
type Edit =
  | readonly [key: string, kind: 'key']
  | readonly [key: string, kind: 'text', old: string, text: string]
  | readonly [key: string, kind: 'hash', field: string, old: string | false, text: string | false]
  | readonly [key: string, kind: 'sorted', member: string, score: string | false, text: string | false]

/** Returns what is left of a text, as `textLeft` does. */
type LeftOf = (list: NamingList, id: string, text: string) => string | null

/** Looks in steps for everything under our keys that names a user. Returns the edits that remove it. @throws StoreError */
export async function editsOf(redis: RedisClient, keys: Keys, forgetting: Forgetting): Promise<readonly Edit[]> {
  const { user } = forgetting
  const own = [keys.user(user), keys.history(user), keys.ending('known', user), keys.ending('member', user)]
  const found: Edit[] = (await thereOf(redis, own)).map((key) => [key, 'key'])

  const { eachField, eachMember } = walkOf(redis)

  const plainLeft: LeftOf = (list, id, text) => textLeft(list, id, text, forgetting)
  /** For a text of a version, a blank and JSON. */
  const versionedLeft: LeftOf = (list, id, text) => {
    const json = text.indexOf(' ') + 1
    const left = plainLeft(list, id, text.slice(json))
    return left === null ? null : text.slice(0, json) + left
  }

  /** A record is deleted whatever it has become, because records never change their owner. @returns the deleted fields with their texts */
  async function lookIn(list: NamingList, key: string, leftOf: LeftOf): Promise<ReadonlyMap<string, string>> {
    const deleted = new Map<string, string>()
    await eachField(key, (id, text) => {
      const left = leftOf(list, id, text)
      if (left === null) deleted.set(id, text)
      if (left !== text) found.push([key, 'hash', id, left !== null && text, left ?? false])
    })
    return deleted
  }

  const tokens = await lookIn('tokens', keys.tokens, plainLeft)
  for (const [hash, text] of tokens) found.push([keys.tokenIds, 'hash', String(objectIn(text)?.id), hash, false])
  if (tokens.size > 0) {
    await eachField(keys.tokenUses, (hash, at) => {
      if (tokens.has(hash)) found.push([keys.tokenUses, 'hash', hash, at, false])
    })
  }
  await lookIn('grants', keys.grants, versionedLeft)
  for (const key of [keys.overrides, keys.replacedOverrides]) await lookIn('overrides', key, versionedLeft)
  for (const key of [keys.organisationOverrides, keys.replacedOrganisationOverrides]) {
    await lookIn('organisationOverrides', key, versionedLeft)
  }
  const refusals = await lookIn('refusals', keys.refusals, plainLeft)
  for (const id of refusals.keys()) found.push([keys.refusalTimes, 'sorted', id, false, false])
  const settings = await call(
    () => redis.get(keys.settings),
    () => null,
  )
  const settingsLeft = settings && versionedLeft('settings', '', settings)
  if (settings && settingsLeft && settingsLeft !== settings) found.push([keys.settings, 'text', settings, settingsLeft])
  for (const key of [keys.audit, ...KINDS.map(keys.olderAudit)]) {
    await eachMember(key, (text, version) => {
      const left = plainLeft('audit', '', text)
      if (left !== null && left !== text) found.push([key, 'sorted', text, version, left])
    })
  }
  for await (const names of keysBeginning(redis, keys, keys.claim(''), STEP)) {
    const own = names.filter((key) => userOfPlace(key.slice(keys.claim('').length)) === user)
    found.push(...own.map((key): Edit => [key, 'key']))
  }
  for await (const names of keysBeginning(redis, keys, keys.alertEvents(''), STEP)) {
    for (const key of names)
      await eachField(key, (field, text) => found.push(...editsOfEvent(keys, forgetting, key, field, text)))
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
    for await (const { pairs } of everyStep((from: string | null) => stepOfHash(redis, key, from, []))) {
      for (const [field, text] of pairs) visit(field, text)
    }
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

/** The edits that delete an event about a window of the user, with everything about its delivery. */
function editsOfEvent(keys: Keys, forgetting: Forgetting, key: string, field: string, text: string): Edit[] {
  if (!field.startsWith('h:') || textLeft('events', '', text, forgetting) !== null) return []
  const [alert, id] = [key.slice(keys.alertEvents('').length), field.slice(2)]
  return [
    ...[field, `s:${id}`].map((each): Edit => [key, 'hash', each, false, false]),
    ...[keys.alertDue, keys.alertAll, keys.alertDone].map((of): Edit => [of(alert), 'sorted', id, false, false]),
  ]
}

/** How many fields, members or keys one step looks at. */
const STEP = 500

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
  // If an edit changes the key of the counters, this key stands in `places` twice. The edit then has the later position.
  const positions = new Map(places.map((key, i) => [key, i + 1]))
  const numbered = edits.map(([key, ...rest]) => [positions.get(key), ...rest])
  return { places, details: JSON.stringify({ salt: newSalt(), keep: FORGOTTEN_MS, edits: numbered, again }) }
}
