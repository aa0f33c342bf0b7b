import {
  AUDIT_BOUNDS,
  type AuditEntry,
  type Author,
  type Changed,
  type ControlStore,
  type Forgetting,
} from '../../control/control-store.ts'
import { authorWithout } from '../../control/forgetting.ts'
import { changesOf } from '../../control/record-forms.ts'
import { NO_RETENTION, type Retention } from '../../quota/history.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { changesAfter, type Head, readInSteps } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import { NO_AUDIT, RedisAudit } from './audit.ts'
import { type Commands, lookedUp, reading, readingAt, run, UNREADABLE } from './calls.ts'
import { encodeChange } from './change-words.ts'
import type { RedisClient } from './client.ts'
import { editsOf, encodeForgetting } from './forgetting.ts'
import type { Keys } from './keys.ts'
import { redisOverrides, versionedBy } from './overrides.ts'
import { StoreClock, withinPeriods } from './store-clock.ts'

export function redisControl(
  redis: RedisClient,
  keys: Keys,
  records: Records,
  bounds = AUDIT_BOUNDS,
  clock = new StoreClock(),
  retention: () => Retention = () => NO_RETENTION,
): Omit<ControlStore, 'onChange'> {
  const audit = new RedisAudit(redis, keys, records)
  const overrides = redisOverrides(redis, keys, records)
  const settings = records.list({
    kind: 'settings',
    list: keys.settings,
    parse: versionedBy(changesOf),
    look: () => lookedUp(() => redis.get(keys.settings)),
  })

  async function readHead(): Promise<Head> {
    const [newest, text] = await reading<[string[], string | null]>(
      redis,
      (commands) => commands.zrange(keys.audit, '-1', '-1', 'WITHSCORES').get(keys.settings),
      (place) => (place === 0 ? NO_AUDIT : UNREADABLE),
    )
    const known = text === null ? null : settings.read('', text)
    return { ...(await audit.last(newest)), settings: known ?? { version: 0, value: {} } }
  }

  return {
    async controlVersion() {
      const newestOf = (commands: Commands) => commands.zrange(keys.audit, '-1', '-1', 'WITHSCORES')
      const [at, newest] = await readingAt<[string[]]>(redis, newestOf, () => NO_AUDIT)
      return { ...(await audit.last(newest)), at }
    },
    readControl: () => readInSteps(readHead, overrides.users, overrides.organisations, overrides.grants),
    changesSince: async (last) => changesAfter(last, await audit.from(last.version)),
    async change(change, author, expected) {
      if (change.kind === 'user_forgotten') return forget(redis, keys, bounds, change, authorWithout(author, change))
      const reply = await withinPeriods(clock, (now) => {
        const { names, args } = encodeChange(change, author, expected, keys, bounds, now, retention())
        return run(redis, 'changeControl', names, args)
      })
      return changedBy(reply)
    },
    stageOverrides: overrides.stage,
    readReplaced: overrides.replacedBy,
    keepsReplaced: overrides.keepsReplaced,
    forgetGrants: overrides.forgetGrants,
    readAudit: (before, limit) => audit.newest(before, limit),
    forgottenChanges: () => audit.forgotten(),
  }
}

/** The most looks. What is then still written under the name is left to the next forgetting. */
const LOOKS = 4

/** Looks for what names the user and removes it, again and again, because others may write during a look. */
async function forget(
  redis: RedisClient,
  keys: Keys,
  bounds: typeof AUDIT_BOUNDS,
  change: Forgetting,
  author: Author,
): Promise<Changed> {
  let changed: Changed | null = null
  for (let looks = 0; looks < LOOKS; looks++) {
    const edits = await editsOf(redis, keys, change)
    if (changed !== null && edits.length === 0) break
    const words = encodeForgetting(change, edits, keys, changed !== null)
    const { names, args } = encodeChange(change, author, null, keys, bounds, undefined, undefined, words)
    const reply = await run(redis, 'changeControl', names, args)
    changed ??= changedBy(reply)
  }
  return changed as Changed
}

function changedBy(reply: unknown): Changed {
  if (typeof reply === 'number') return { done: false, version: reply }
  if (!Array.isArray(reply)) throw new StoreError('unexpected reply of control.lua', 'other', 'unknown')
  const [entry, forgotten] = reply as [string, number]
  return { done: true, entry: JSON.parse(entry) as AuditEntry, forgotten }
}
