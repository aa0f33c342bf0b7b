import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AccessKeyRecord, mintToken } from '../../src/control/access-key-record.ts'
import { type ChangeFollower, createChangeFollower } from '../../src/control/change-follower.ts'
import { type AccessKeys, createAccessKeys } from '../../src/control/held-access-keys.ts'
import { createFakeStore, type FakeStore } from './fake-store.ts'

const AUTHOR = { who: 'ada', why: null }
const mint = (user = 'alice', expiresAt: number | null = null) => mintToken({ user, name: 'test', expiresAt }, 1000)

/** By id. */
let records: Map<string, AccessKeyRecord>
let store: FakeStore
let control: ChangeFollower
let keys: AccessKeys
let wanted: boolean
/** Our monotonic clock. */
let time: number

beforeEach(() => {
  store = createFakeStore()
  records = new Map()
  wanted = true
  time = 1000
  open()
})
afterEach(() => control.close())

/** Never polls by itself: what is seen was seen by a hint or by asking. */
function open(): void {
  const now = () => time
  control = createChangeFollower({ store, observe: () => {}, pollMs: 1e9, now })
  const asking = async <T>(what: string, value: () => T): Promise<T> => {
    store.asked.push(what)
    await store.pace
    if (store.out) throw await store.controlVersion().catch((error) => error)
    return value()
  }
  keys = createAccessKeys({
    store: {
      readAudit: store.readAudit,
      findTokens: (ids) => asking(`tokens ${ids.length}`, () => ids.flatMap((id) => records.get(id) ?? [])),
      readTokens: (from) => asking('all tokens', () => step(from)),
    },
    control,
    wanted: () => wanted,
    now,
  })
}

/** Two at a time. */
function step(from: string | null) {
  const all = [...records.values()]
  const start = Number(from ?? 0)
  return { records: all.slice(start, start + 2), next: start + 2 < all.length ? String(start + 2) : null }
}

/** As administrators do: the audit comes first. */
async function create(made = mint()): Promise<{ token: string; record: AccessKeyRecord }> {
  const { id, user, name } = made.record
  await store.change({ kind: 'token_created', id, to: { user, name } }, AUTHOR, null)
  records.set(id, made.record)
  return made
}

async function revoke({ id }: AccessKeyRecord): Promise<void> {
  await store.change({ kind: 'token_revoked', id, to: {} }, AUTHOR, null)
  records.set(id, { ...(records.get(id) as AccessKeyRecord), revokedAt: 5000 })
}

describe('an access key', () => {
  it('of the store is known at once when the keeper has started', async () => {
    const made = await Promise.all([1, 2, 3, 4, 5].map((i) => create(mint(`user ${i}`, i * 1e6))))
    await control.start()
    for (const { token, record } of made) {
      expect(keys.find(token)).toEqual({ user: record.user, expiresAt: record.expiresAt, revokedAt: null })
    }
  })

  it('that is asked for before the keeper has started is waited for', async () => {
    const { token } = await create()
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })

  it('that nobody made is unknown, and the store is never asked for it', async () => {
    await create()
    await control.start()
    store.asked.length = 0
    const responses = [1, 2, 3].map(() => keys.find(mint().token))
    expect(await Promise.all(responses)).toEqual([null, null, null])
    expect(store.asked).toEqual(['version'])
  })

  it('that was made elsewhere a moment before is known to the first request, with no hint and no poll', async () => {
    await control.start()
    store.isDeaf = true
    const { token } = await create()
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })

  it('is known also if its record comes after the store was asked for it', async () => {
    await control.start()
    const { token, record } = mint()
    await store.change({ kind: 'token_created', id: record.id, to: {} }, AUTHOR, null)
    expect(await keys.find(token)).toBeNull()
    records.set(record.id, record)
    time += 200
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
    store.asked.length = 0
    await control.fresh()
    expect(store.asked).toEqual(['version'])
  })

  it('that was changed while all were read has its last record', async () => {
    const { token, record } = await create()
    await store.change({ kind: 'token_revoked', id: record.id, to: {} }, AUTHOR, null)
    store.remembered = 0
    await control.start()
    expect(store.asked).toContain('everything')
    expect(keys.find(token)).toMatchObject({ revokedAt: null })
    records.set(record.id, { ...record, revokedAt: 5000 })
    await control.fresh()
    expect(keys.find(token)).toMatchObject({ revokedAt: 5000 })
  })

  it('whose record never comes is not looked for for ever', async () => {
    await control.start()
    await store.change({ kind: 'token_created', id: 'lost', to: {} }, AUTHOR, null)
    await control.fresh()
    time += 30_000
    await control.fresh()
    store.asked.length = 0
    await control.fresh()
    expect(store.asked).toEqual(['version'])
  })

  it('that is revoked is known as such by the next look', async () => {
    const { token, record } = await create()
    await control.start()
    store.isDeaf = true
    await revoke(record)
    time += 1199
    expect(keys.find(token)).toMatchObject({ revokedAt: null })
    time += 1
    expect(await keys.find(token)).toMatchObject({ revokedAt: 5000 })
  })

  it('is confirmed for all who need it by one question', async () => {
    const made = await Promise.all([1, 2, 3].map(() => create()))
    await control.start()
    time += 1200
    store.asked.length = 0
    const found = await Promise.all(made.flatMap(({ token }) => [keys.find(token), keys.find(token)]))
    expect(found.every((key) => key?.user === 'alice')).toBe(true)
    expect(store.asked).toEqual(['version'])
  })

  it('is forgotten if the store has lost it', async () => {
    const { token } = await create()
    await create()
    await control.start()
    records.clear()
    store.lose(2)
    await control.fresh()
    await control.fresh()
    expect(await keys.find(token)).toBeNull()
  })

  it('is known also after more changes than are read one by one', async () => {
    await control.start()
    store.isDeaf = true
    const { token } = await create()
    store.remembered = 0
    time += 1200
    expect(await keys.find(token)).toMatchObject({ user: 'alice' })
  })

  it('is not held if access keys are switched off, and is when they are switched on', async () => {
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
})

describe('while the store is out', () => {
  it('a known access key is good as long as its revocation would have been seen, and no longer', async () => {
    const { token } = await create()
    await control.start()
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

describe('a flood of made-up access keys', () => {
  it('asks the store ten times a second, whatever its rate', async () => {
    await control.start()
    store.asked.length = 0
    const started = performance.now()
    time = started
    // The pause between two questions is waited for by the real clock.
    const now = setInterval(() => {
      time = performance.now()
    }, 1)
    while (performance.now() < started + 550)
      await Promise.all(Array.from({ length: 50 }, () => keys.find(mint().token)))
    clearInterval(now)
    expect(store.asked.length).toBeLessThanOrEqual(7)
    expect(new Set(store.asked)).toEqual(new Set(['version']))
  })

  it('has a hundred that wait: the others are refused at once, and known ones are let in', async () => {
    const { token } = await create()
    await control.start()
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

  it('is asked to come back, not refused, if the store is out and too many wait', async () => {
    await control.start()
    time += 1200
    store.out = true
    const flood = Array.from({ length: 150 }, () => keys.find(mint().token))
    const responses = await Promise.allSettled(flood)
    expect(responses.every(({ status }) => status === 'rejected')).toBe(true)
  })
})
