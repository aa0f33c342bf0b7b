import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { creationOf, importsOf, revocationOf, revocationsOf, rotationOf } from '../../src/control/access-key-changes.ts'
import { hashAccessKey, importedRecord, mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord, FoundAccessKey } from '../../src/control/access-key-store.ts'
import { type ChangeFollower, createChangeFollower } from '../../src/control/change-follower.ts'
import type { AccessKeysImported } from '../../src/control/control-store.ts'
import { createAccessKeys, type HeldAccessKeys } from '../../src/control/held-access-keys.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { createFakeStore, type FakeStore } from './fake-store.ts'

const AUTHOR = { who: 'ada', why: null }
const mint = (user = 'alice', expiresAt: number | null = null) => mintToken({ user, name: 'test', expiresAt }, 1000)

/** By id. */
let records: Map<string, AccessKeyRecord>
/** Ids of those whose records cannot be read. */
let unreadable: Set<string>
/** Questions for changed ones that fail. */
let failing: number
let store: FakeStore
let control: ChangeFollower
let keys: HeldAccessKeys
let wanted: boolean
/** Uses that the store was asked to note. */
let noted: [string, number][]
/** Our monotonic clock. */
let time: number
let now: () => number

beforeEach(() => {
  store = createFakeStore()
  records = new Map()
  unreadable = new Set()
  failing = 0
  wanted = true
  noted = []
  time = 1000
  now = () => time
  open()
})
afterEach(() => control.close())

/** Never polls by itself: what is seen was seen by a hint or by asking. */
function open(): void {
  control = createChangeFollower({ store, observe: () => {}, pollMs: 1e9, now: () => now() })
  // Uses are noted seconds later, when the test may be over: they are for its own store.
  const own = store
  const asking = async <T>(what: string, value: () => T): Promise<T> => {
    own.asked.push(what)
    await own.pace
    if (own.out) throw await own.controlVersion().catch((error) => error)
    if (what.startsWith('tokens') && failing-- > 0) throw new StoreError('cut off', 'connection', 'no')
    return value()
  }
  keys = createAccessKeys({
    store: {
      findTokens: (ids) => asking(`tokens ${ids.length}`, () => found(ids)),
      readTokens: (from) => asking('all tokens', () => step(from)),
      removeTokens: (endedBefore) => asking(`ended before ${endedBefore}`, () => {}),
      noteUses: (uses) => asking('uses', () => void noted.push(...uses)),
    },
    control,
    wanted: () => wanted,
    now: () => now(),
  })
}

/** Two at a time. */
function step(from: string | null) {
  const all = [...records.values()]
  const start = Number(from ?? 0)
  return { records: all.slice(start, start + 2), next: start + 2 < all.length ? String(start + 2) : null }
}

function found(ids: readonly string[]): FoundAccessKey[] {
  return ids.flatMap((id) => {
    const record = records.get(id)
    return record === undefined ? [] : [{ id, hash: record.hash, record: unreadable.has(id) ? null : record }]
  })
}

async function create(made = mint()): Promise<{ token: string; record: AccessKeyRecord }> {
  records.set(made.record.id, made.record)
  await store.change(creationOf(made.record), AUTHOR, null)
  return made
}

/** One that the keeper has known since its start. */
async function known(): Promise<{ token: string; record: AccessKeyRecord }> {
  const made = await create()
  await control.start()
  return made
}

async function revoke(record: AccessKeyRecord): Promise<void> {
  const change = revocationOf({ ...record, record }, 5000)
  records.set(record.id, change.record)
  await store.change(change, AUTHOR, null)
}

it('an access key of the store is known at once when the keeper has started', async () => {
  const made = await Promise.all([1, 2, 3, 4, 5].map((i) => create(mint(`user ${i}`, i * 1e6))))
  await control.start()
  for (const { token, record } of made) {
    expect(keys.find(token)).toEqual({ user: record.user, expiresAt: record.expiresAt, revokedAt: null })
  }
})

it('an access key that ended more than 30 days ago is held no more, and the store is asked to remove it', async () => {
  const day = 86_400_000
  const made = [mint('expired', day), mint('of late', 2 * day), mint('for ever')]
  for (const each of made) await create(each)
  store.at = 31 * day + 1
  await control.start()
  const [expired, ofLate, forEver] = made.map(({ token }) => token)
  store.asked.length = 0
  await keys.removeEnded()
  expect(store.asked).toEqual([`ended before ${control.storeTime() - 30 * day}`])
  expect(await keys.find(expired as string)).toBeNull()
  for (const token of [ofLate, forEver]) expect(await keys.find(token as string)).not.toBeNull()
  store.out = true
  await keys.removeEnded()
})

it('an access key that lets somebody in is noted as used, once in five minutes, and no other one', async () => {
  const [used, expired, revoked] = [await create(), await create(mint('bob', 1)), await create(mint('carol'))]
  await revoke(revoked.record)
  store.at = 5000
  await control.start()
  const uses = async () => {
    await keys.close()
    return noted.splice(0)
  }
  for (const { token } of [used, used, expired, revoked, mint()]) await keys.find(token)
  expect(await uses()).toEqual([[used.record.hash, control.storeTime()]])
  time += 5 * 60_000 - 1
  await keys.find(used.token)
  expect(await uses()).toEqual([])
  time += 1
  await keys.find(used.token)
  store.out = true
  expect(await uses()).toEqual([])
  store.out = false
  expect(await uses()).toEqual([[used.record.hash, expect.any(Number)]])
})

it('an access key of a user who was forgotten lets nobody in, though no entry says whose it was', async () => {
  const made = [await create(mint('alice')), await create(mint('bob'))] as const
  await control.start()
  records.delete(made[0].record.id)
  await store.change({ kind: 'user_forgotten', user: 'alice', alias: 'forgotten-1' }, AUTHOR, null)
  await control.fresh()
  expect(await keys.find(made[0].token)).toBeNull()
  expect(await keys.find(made[1].token)).toMatchObject({ user: 'bob' })
})

it('an access key that is asked for before the keeper has started is waited for', async () => {
  const { token } = await create()
  expect(await keys.find(token)).toMatchObject({ user: 'alice' })
})

it('an access key that nobody made is unknown, and the store is never asked for it', async () => {
  await create()
  await control.start()
  store.asked.length = 0
  const responses = [1, 2, 3].map(() => keys.find(mint().token))
  expect(await Promise.all(responses)).toEqual([null, null, null])
  expect(store.asked).toEqual(['version'])
})

it('an access key that was made elsewhere a moment before is known to the first request, with no hint and no poll', async () => {
  await control.start()
  store.isDeaf = true
  const { token } = await create()
  expect(await keys.find(token)).toMatchObject({ user: 'alice' })
})

it('an access key that was changed is read once more if the store failed before its record was read', async () => {
  const { token, record } = await known()
  store.isDeaf = true
  failing = 1
  await revoke(record)
  await expect(control.fresh()).rejects.toMatchObject({ name: 'StoreError' })
  await control.fresh()
  expect(keys.find(token)).toMatchObject({ revokedAt: 5000 })
})

it('an access key that was revoked lets nobody in if its record cannot be read', async () => {
  const { token, record } = await known()
  unreadable.add(record.id)
  await revoke(record)
  await control.fresh()
  expect(await keys.find(token)).toBeNull()
})

it('an access key that is revoked is known as such by the next look', async () => {
  const { token, record } = await known()
  store.isDeaf = true
  await revoke(record)
  time += 1199
  expect(keys.find(token)).toMatchObject({ revokedAt: null })
  time += 1
  expect(await keys.find(token)).toMatchObject({ revokedAt: 5000 })
})

it('an access key that is revoked with all others of its user is known as such by the next look, and those of others stay good', async () => {
  const made = [await create(), await create(), await create(mint('bob'))]
  await control.start()
  const asked = store.asked.length
  for (const change of revocationsOf('alice', [...records.values()], 5000)) {
    for (const record of change.records) records.set(record.id, record)
    await store.change(change, AUTHOR, null)
  }
  time += 1200
  const found = await Promise.all(made.map(({ token }) => keys.find(token)))
  expect(found.map((key) => key?.revokedAt)).toEqual([5000, 5000, null])
  expect(store.asked.slice(asked)).toContain('tokens 2')
})

it('an access key is confirmed for all who need it by one question', async () => {
  const made = await Promise.all([1, 2, 3].map(() => create()))
  await control.start()
  time += 1200
  store.asked.length = 0
  const found = await Promise.all(made.flatMap(({ token }) => [keys.find(token), keys.find(token)]))
  expect(found.every((key) => key?.user === 'alice')).toBe(true)
  expect(store.asked).toEqual(['version'])
})

it('an access key is forgotten if the store has lost it', async () => {
  const { token } = await create()
  await create()
  await control.start()
  records.clear()
  store.lose(2)
  await control.fresh()
  await control.fresh()
  expect(await keys.find(token)).toBeNull()
})

it('an access key is known also after more changes than are read one by one', async () => {
  await control.start()
  store.isDeaf = true
  const { token } = await create()
  store.remembered = 0
  time += 1200
  expect(await keys.find(token)).toMatchObject({ user: 'alice' })
})

it('an access key that takes the place of another one gives that one its end, which is seen with it', async () => {
  const { token, record } = await known()
  const fresh = mint()
  const change = rotationOf(fresh.record, record, 9000)
  for (const each of [change.record, change.replaced as AccessKeyRecord]) records.set(each.id, each)
  await store.change(change, AUTHOR, null)
  expect(await keys.find(fresh.token)).toMatchObject({ user: 'alice', expiresAt: null })
  expect(keys.find(token)).toMatchObject({ user: 'alice', expiresAt: 9000 })
})

it('an access key that somebody else has made is held with its shape, and the store is not asked about others', async () => {
  const key = 'sk_live_of_kong'
  const record = importedRecord({ hash: hashAccessKey(key), user: 'bob', name: 'from Kong', expiresAt: null }, 1000)
  await control.start()
  expect(keys.isImported(key)).toBe(false)
  const [change] = importsOf([record])
  records.set(record.id, record)
  await store.change(change as AccessKeysImported, AUTHOR, null)
  await control.fresh()
  expect([keys.isImported(key), await keys.find(key)]).toEqual([true, expect.objectContaining({ user: 'bob' })])
  const { token } = await create()
  await control.fresh()
  store.asked.length = 0
  expect([keys.isImported(`${key}x`), keys.isImported(token)]).toEqual([false, false])
  expect(store.asked).toEqual([])
  records.delete(record.id)
  control.close()
  open()
  await control.start()
  expect(keys.isImported(key)).toBe(false)
})

it('an access key is not held if access keys are switched off, and is when they are switched on', async () => {
  const { token } = await create()
  wanted = false
  await control.start()
  expect(store.asked).not.toContain('all tokens')
  wanted = true
  expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  wanted = false
  await control.fresh()
  expect(await keys.find(token)).toBeNull()
})

describe('while the store is out', () => {
  it('a known access key is good as long as its revocation would have been seen, and no longer', async () => {
    const { token } = await known()
    store.out = true
    time += 1199
    expect(keys.find(token)).toMatchObject({ user: 'alice' })
    time += 1
    await expect(keys.find(token)).rejects.toMatchObject({ name: 'StoreError', reason: 'connection' })
    store.out = false
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })

  it('an unknown access key stays unknown, and is not refused for good', async () => {
    await control.start()
    store.out = true
    await expect(keys.find(mint().token)).rejects.toMatchObject({ name: 'StoreError' })
    store.out = false
    const { token } = await create()
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })

  it('no access key is known at the start, and all are when the store is back', async () => {
    const { token } = await create()
    store.out = true
    await control.start()
    await expect(keys.find(token)).rejects.toMatchObject({ name: 'StoreError' })
    store.out = false
    time += 1000
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })
})

it('a flood of made-up access keys asks the store ten times a second, whatever its rate', async () => {
  // The pause between two questions is waited for by the real clock, so that a clock which stands still meanwhile would make them more.
  now = () => performance.now()
  await control.start()
  store.asked.length = 0
  const started = now()
  while (performance.now() < started + 550) await Promise.all(Array.from({ length: 50 }, () => keys.find(mint().token)))
  // A busy machine ends the last round late.
  expect(store.asked.length).toBeLessThanOrEqual((performance.now() - started) / 100 + 2)
  expect(new Set(store.asked)).toEqual(new Set(['version']))
})

it('a flood of made-up access keys has a hundred that wait: the others are refused at once, and known ones are let in', async () => {
  const { token } = await known()
  let response: () => void = () => {}
  store.pace = new Promise((resolve) => {
    response = resolve
  })
  const flood = Array.from({ length: 150 }, () => keys.find(mint().token))
  expect(flood.filter((one) => one instanceof Promise)).toHaveLength(100)
  expect(flood.slice(100)).toEqual(Array(50).fill(null))
  expect(keys.find(token)).toMatchObject({ user: 'alice' })
  response()
  await Promise.all(flood)
  expect(keys.find(mint().token)).toBeInstanceOf(Promise)
})

it('a flood of made-up access keys is asked to come back, not refused, if the store is out and too many wait', async () => {
  await control.start()
  time += 1200
  store.out = true
  const flood = Array.from({ length: 150 }, () => keys.find(mint().token))
  const responses = await Promise.allSettled(flood)
  expect(responses.every(({ status }) => status === 'rejected')).toBe(true)
})
