import { randomUUID } from 'node:crypto'
import type { AccessKeyStore } from '../../control/access-key-store.ts'
import { everyStep } from '../../lib/steps.ts'
import type { Observer } from '../../observe/observation.ts'
import { EVERYBODY } from '../../quota/charged-scopes.ts'
import { endsAt } from '../../quota/counter.ts'
import { NO_RETENTION } from '../../quota/history.ts'
import { StoreError } from '../../quota/quota-store.ts'
import type { Episode, Place } from '../../usage/episodes.ts'
import { SERIES_KINDS, startsOf } from '../../usage/series.ts'
import { type Copyable, type Lists, lastingOf, type Owner, type Portion, portionOf, type Refill } from '../copy.ts'
import { COPIED_LISTS, type Ending, type EndingList, endingRecords } from '../endings.ts'
import { createRecords, type RecordList } from '../records.ts'
import { redisAccessKeys, withUse, writeToken } from './access-keys.ts'
import { call, pinging, readingAt, timeOf, transaction } from './calls.ts'
import { connect, type RedisAccess, type RedisClient } from './client.ts'
import { redisControl } from './control.ts'
import { redisEndings } from './endings.ts'
import { packCounters, readCounters } from './form/section.ts'
import { historyKey, redisHistory, textsOf } from './history.ts'
import { createKeys, type Keys, keyOf } from './keys.ts'
import { redisReplicas, writeSilences } from './replicas.ts'
import { keysBeginning } from './scanned-keys.ts'
import { failureRecords, readBuckets, writeBuckets } from './tallies.ts'
import { dayOfKey, type SeriesPlace, usageRecords, writeEpisodes, writeSeries } from './usage-log.ts'

/** How many keys of the database one step looks at, and the most entries of a portion. */
const STEP = 250

/** In milliseconds. A command of ours needs far less, but the server may be busy with commands of others. */
const DEADLINE_MS = 2000

/**
 * The part of a Redis under one prefix, to be copied. A transaction could not hold all of it, so the store has a mark
 * while it is filled, and after a copy that broke off.
 */
export function openRedisCopyable(
  { prefix, ...access }: RedisAccess & { readonly prefix: string },
  observe: Observer = () => {},
): Copyable {
  const redis = connect({ ...access, deadlineMs: DEADLINE_MS })
  // The next call reports errors of the connection, and ioredis goes on trying.
  redis.on('error', () => {})
  redis.connect().catch(() => {})
  const keys = createKeys(prefix)
  const records = createRecords(observe)
  const changes = redisControl(redis, keys, records)
  const replicas = redisReplicas(redis, keys, records)
  const usage = usageRecords(redis, keys, records)
  const remembered = endingRecords(redisEndings(redis, keys), records)

  async function* portions(): AsyncGenerator<Portion, void> {
    let hasCounters = false
    const days = new Map<string, SeriesPlace>()
    for await (const names of keysBeginning(redis, keys, keys.all, STEP)) {
      const owners = await readOwners(redis, keys, names)
      hasCounters ||= owners.length > 0
      yield* portionOf('counters', owners)
      for (const list of COPIED_LISTS) {
        yield* portionOf(list, await readEndings(redis, names, keys.ending(list, ''), remembered[list]))
      }
      for (const name of names) {
        const day = dayOfKey(keys, name)
        if (day !== null) days.set(name, day)
      }
    }
    const { since, keeping } = await redisHistory(redis, keys).readCounted()
    if (hasCounters && since.size > 0) yield { kind: 'counted', entries: [{ since, keeping }] }
    yield* tokens(redisAccessKeys(redis, keys, records), await call(() => redis.hgetall(keys.tokenUses)))
    yield* control(changes)
    yield* portionOf('failures', (await readBuckets(redis, keys, failureRecords(redis, keys, records))).buckets)
    let hasSeries = false
    for await (const portion of series(redis, usage, [...days.values()])) {
      hasSeries = true
      yield portion
    }
    if (hasSeries) yield* portionOf('silences', await replicas.readSilences())
    yield* pages('refusals', async (behind: Place | null) => {
      const entries: readonly Episode[] = await usage.readEpisodes(behind)
      return { entries, next: entries.at(-1) ?? null }
    })
  }

  return {
    ping: pinging(redis, keys.version),
    listReplicas: replicas.listReplicas,
    portions,
    refill: () => refillOf(redis, keys, changes),
    unfinished: () => unfinishedIn(redis, keys),
    close: async () => redis.disconnect(),
  }
}

/** Fills a Redis, which is marked meanwhile. */
async function refillOf(
  redis: RedisClient,
  keys: Keys,
  changes: Pick<ReturnType<typeof redisControl>, 'controlVersion'>,
): Promise<Refill> {
  const mark = randomUUID()
  const audited = new Set<number>()
  const before = await unfinishedIn(redis, keys)
  await call(() => redis.set(keys.copying, mark))
  return {
    mark,
    clear: () => clear(redis, keys),
    async put(portion) {
      await put(redis, keys, portion)
      if (portion.kind === 'audit') for (const { version } of portion.entries) audited.add(version)
    },
    async done() {
      if ((await unfinishedIn(redis, keys)) !== mark)
        throw new StoreError('another copy fills this store', 'other', 'no')
      const { version } = await changes.controlVersion()
      await transaction(redis, (multi) => {
        if (version > 0) multi.set(keys.version, String(version))
        if (version > audited.size) multi.set(keys.forgotten, String(version - audited.size))
        multi.del(keys.copying)
      })
    },
    abandon: async () => {
      await call<unknown>(() => (before === null ? redis.del(keys.copying) : redis.set(keys.copying, before)))
    },
  }
}

/** The mark of a copy that has not ended. */
function unfinishedIn(redis: RedisClient, keys: Keys): Promise<string | null> {
  return call(() => redis.get(keys.copying))
}

type UsageRecords = ReturnType<typeof usageRecords>

/** The owners of these keys and their counters. */
async function readOwners(redis: RedisClient, keys: Keys, names: readonly string[]): Promise<Owner[]> {
  const found = names.flatMap((name) => ownerOf(keys, name) ?? [])
  if (found.length === 0) return []
  const counters = found.map(({ name }) => name)
  // The global scope has no history, so the history without an id, which never exists, takes its place.
  const histories = found.map(({ scope, id }) => (scope === 'global' ? keys.history('') : historyKey(keys, scope, id)))
  type Values = (Buffer | null)[]
  const [now, values, before, ...left] = await readingAt<[Values, Values, ...number[]]>(redis, (commands) => {
    commands.mgetBuffer(counters).mgetBuffer(histories)
    for (const name of counters) commands.pttl(name)
  })
  return found.flatMap(({ scope, id }, i) => {
    const ends = now + Math.max(0, left[i] ?? 0)
    const history = scope === 'global' ? null : (before[i] ?? null)
    const lasting = lastingOf(readCounters(values[i]), ends, now)
    if (lasting.size === 0 && history === null) return []
    return [{ scope, id, counters: lasting, ...(history !== null && { history }), ends }]
  })
}

/** A key with counters, and their owner. `null` for the key without an id, which belongs to nobody, and for all other keys. */
function ownerOf(keys: Keys, name: string) {
  if (name.startsWith(keys.everybody(''))) return { name, scope: 'global' as const, id: EVERYBODY }
  const prefixes = { personal: keys.user(''), organisation: keys.organisation('') }
  for (const scope of ['personal', 'organisation'] as const) {
    const id = name.startsWith(prefixes[scope]) ? name.slice(prefixes[scope].length) : ''
    if (id !== '') return { name, scope, id }
  }
  return null
}

/** The entries of a list under these keys that can be read, each with its end. */
async function readEndings(
  redis: RedisClient,
  names: readonly string[],
  prefix: string,
  records: RecordList<string, unknown>,
): Promise<Ending[]> {
  const ours = names.filter((name) => name.startsWith(prefix))
  if (ours.length === 0) return []
  const [now, values, ...left] = await readingAt<[(string | null)[], ...number[]]>(redis, (commands) => {
    commands.mget(ours)
    for (const name of ours) commands.pttl(name)
  })
  return ours.flatMap((name, i) => {
    const [id, text, lasts] = [name.slice(prefix.length), values[i] ?? null, left[i] ?? 0]
    if (text === null || lasts <= 0 || records.read(id, text) === null) return []
    return [{ id, text, ends: now + lasts }]
  })
}

function tokens({ readTokens }: AccessKeyStore, uses: Readonly<Record<string, string>>) {
  return pages('tokens', async (from: string | null) => {
    const { records, next } = await readTokens(from)
    return { entries: records.map((record) => withUse(record, uses)), next }
  })
}

async function* control({ readControl, readAudit }: ReturnType<typeof redisControl>): AsyncGenerator<Portion, void> {
  const { settings, overrides, organisationOverrides, grants } = await readControl()
  if (settings.version > 0) yield { kind: 'settings', entries: [settings] }
  for (const entries of inSteps([...overrides])) yield { kind: 'overrides', entries }
  for (const entries of inSteps([...organisationOverrides])) yield { kind: 'organisationOverrides', entries }
  for (const entries of inSteps([...grants])) yield { kind: 'grants', entries }
  yield* pages('audit', async (before: number | null) => {
    const entries = await readAudit(before, STEP)
    return { entries, next: entries.at(-1)?.version ?? null }
  })
}

/** A list page by page. */
async function* pages<K extends keyof Lists, Next>(
  kind: K,
  read: (from: Next | null) => Promise<{ readonly entries: readonly Lists[K][]; readonly next: Next | null }>,
): AsyncGenerator<Portion, void> {
  for await (const page of everyStep(read)) yield* portionOf(kind, page.entries)
}

async function* series(
  redis: RedisClient,
  { seriesRows }: UsageRecords,
  days: readonly SeriesPlace[],
): AsyncGenerator<Portion, void> {
  const at = await timeOf(redis)
  const starts = startsOf({ from: 0, to: at + 1 }, at, NO_RETENTION)
  const halfHours = SERIES_KINDS.flatMap((by) => starts.map((start) => ({ by, start, zone: null })))
  // A row has only its start. The other facts of its place are those of the group.
  for (const places of Map.groupBy([...halfHours, ...days], ({ by, zone }) => `${by} ${zone}`).values()) {
    const [place] = places as [SeriesPlace]
    for await (const rows of seriesRows(places)) {
      for (const some of inSteps(rows)) yield { kind: 'series', entries: some.map((row) => ({ ...place, ...row })) }
    }
  }
}

function* inSteps<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < all.length; i += STEP) yield all.slice(i, i + STEP)
}

/** Deletes everything but the mark and what running processes report and remember. */
async function clear(redis: RedisClient, keys: Keys): Promise<void> {
  const kept = [keys.beats, keys.replicas, keys.copying]
  for await (const names of keysBeginning(redis, keys, keys.all, STEP)) {
    const gone = names.filter((name) => !kept.includes(name) && !isOfProcess(keys, name))
    if (gone.length > 0) await call(() => redis.del(gone))
  }
}

/** Whether a key holds the last batch or the last flush of a process. */
function isOfProcess(keys: Keys, name: string): boolean {
  return name.startsWith(keys.instance('')) || name.startsWith(keys.flush(''))
}

type Multi = ReturnType<RedisClient['multi']>

async function put(redis: RedisClient, keys: Keys, { kind, entries }: Portion): Promise<void> {
  for (const some of inSteps<unknown>(entries)) {
    await transaction(redis, (multi) => void PUT[kind](multi, keys, some as never))
  }
}

/** How an entry of each list is written, in the form of the scripts. */
const PUT: {
  readonly [K in keyof Lists]: (multi: Multi, keys: Keys, entries: readonly Lists[K][]) => void
} = {
  counters: each(putOwner),
  known: putEndings('known'),
  member: putEndings('member'),
  named: putEndings('named'),
  counted: each((multi, keys, { since, keeping }) => {
    for (const [name, at] of since) multi.hset(keys.counted, name, at)
    if (keeping.size > 0) multi.hset(keys.counted, textsOf(keeping))
  }),
  tokens: each(writeToken),
  settings: each((multi, keys, settings) => multi.set(keys.settings, textOf(settings))),
  overrides: each((multi, keys, [user, override]) => multi.hset(keys.overrides, user, textOf(override))),
  organisationOverrides: each((multi, keys, [id, override]) =>
    multi.hset(keys.organisationOverrides, id, textOf(override)),
  ),
  grants: each((multi, keys, [id, grant]) => multi.hset(keys.grants, id, textOf(grant))),
  audit: each((multi, keys, entry) => multi.zadd(keys.audit, entry.version, JSON.stringify(entry))),
  failures: writeBuckets,
  series: writeSeries,
  silences: writeSilences,
  refusals: writeEpisodes,
}

function each<T>(write: (multi: Multi, keys: Keys, entry: T) => unknown) {
  return (multi: Multi, keys: Keys, entries: readonly T[]): void => {
    for (const entry of entries) write(multi, keys, entry)
  }
}

function putEndings(list: EndingList) {
  return each((multi, keys, { id, text, ends }: Ending) => multi.set(keys.ending(list, id), text, 'PXAT', ends))
}

/** The keys expire by themselves, as in `charge.lua`. */
function putOwner(multi: Multi, keys: Keys, { scope, id, counters, history, ends: lasts = 0 }: Owner): void {
  const under = scope === 'global' ? [...counters].map((one) => new Map([one])) : [counters]
  for (const some of under) {
    const [category = ''] = some.keys()
    const ends = Math.max(lasts, ...[...some.values()].map(endsAt))
    multi.set(keyOf(keys, scope, scope === 'global' ? category : id), packCounters(some), 'PXAT', ends)
    if (history !== undefined && scope !== 'global') {
      multi.set(historyKey(keys, scope, id), Buffer.from(history), 'PXAT', ends)
    }
  }
}

/** The form in which control.lua stores a value. */
function textOf({ version, value }: { readonly version: number; readonly value: unknown }): string {
  return `${version} ${JSON.stringify(value)}`
}
