import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { type KnownUserStore, KnownUsers, type KnownUsersOptions } from '../../src/quota/known-users.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import type { Reserve } from '../../src/quota/reserve.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

const DAY = 86_400_000
const RESERVE: Reserve = { share: 0.2, knownAfterMs: DAY, rememberMs: 30 * DAY }

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** What one process knows, of a store whose time is that of the process. */
function world(options: Partial<KnownUsersOptions> = {}) {
  let time = 1_000_000
  let isOut = false
  const store = openSqliteStore({ file: ':memory:', clock: () => time })
  open.push(store)
  const calls: string[] = []
  const counted: KnownUserStore = {
    async noteUsers(users, rememberMs) {
      calls.push(`note ${users.join(' ')}`)
      if (isOut) throw new StoreError('out', 'timeout', 'no')
      return store.noteUsers(users, rememberMs)
    },
    async knownFor(user) {
      calls.push(`ask ${user}`)
      if (isOut) throw new StoreError('out', 'timeout', 'no')
      return store.knownFor(user)
    },
  }
  const process = () =>
    new KnownUsers({ store: counted, reserve: () => RESERVE, gatherMs: 0, now: () => time, ...options })
  const known = process()
  /** Charges, and waits until the store has heard of it. */
  async function charge(...users: string[]): Promise<void> {
    for (const user of users) known.note(user)
    await known.close()
  }
  return {
    known,
    process,
    charge,
    calls,
    pass: (ms: number) => {
      time += ms
    },
    out: (is: boolean) => {
      isOut = is
    },
  }
}

it('the users that a process knows are those whose first charge lies as long ago as the reserve wants', async () => {
  const { known, charge, pass } = world()
  expect(known.isKnown('alice')).toBe(false)
  await charge('alice')
  expect(known.isKnown('alice')).toBe(false)
  pass(DAY - 1)
  expect(known.isKnown('alice')).toBe(false)
  pass(1)
  expect(known.isKnown('alice')).toBe(true)
  expect(known.isKnown('bob')).toBe(false)
})

it('the users that a process knows are noted once a day, however often they charge', async () => {
  const { charge, pass, calls } = world()
  for (let i = 0; i < 5; i++) await charge('alice')
  expect(calls).toEqual(['note alice'])
  pass(DAY - 1)
  await charge('alice')
  expect(calls).toHaveLength(1)
  pass(1)
  await charge('alice')
  expect(calls).toEqual(['note alice', 'note alice'])
})

it('the users that a process knows are noted together, without anybody waiting for it', async () => {
  const { known, calls } = world()
  for (let i = 0; i < 300; i++) known.note(`user-${i % 299}`)
  expect(calls).toEqual([])
  while (calls.length < 2) await sleep(1)
  expect(calls.map((call) => call.split(' ').length - 1)).toEqual([256, 43])
})

it('the users that a process knows are known no more when they have not charged for as long as they are remembered', async () => {
  const { known, charge, pass } = world()
  await charge('alice')
  pass(30 * DAY - 1)
  expect(known.isKnown('alice')).toBe(true)
  pass(1)
  expect(known.isKnown('alice')).toBe(false)
  expect(await known.lookUp('alice')).toBe(false)
  await charge('alice')
  expect(known.isKnown('alice')).toBe(false)
})

it('the users that a process knows stay known with a charge now and then, years after the first', async () => {
  const { known, charge, pass } = world()
  for (let i = 0; i < 40; i++) {
    await charge('alice')
    pass(29 * DAY)
    expect(known.isKnown('alice')).toBe(true)
  }
})

it('the users that a process knows are looked up once by a process that does not know them, and noted at their next charge', async () => {
  const { charge, process, pass, calls } = world()
  await charge('alice')
  pass(2 * DAY)
  const other = process()
  expect(await Promise.all([other.lookUp('alice'), other.lookUp('alice')])).toEqual([true, true])
  expect(other.isKnown('alice')).toBe(true)
  expect(await other.lookUp('alice')).toBe(false)
  expect(calls).toEqual(['note alice', 'ask alice'])
  other.note('alice')
  await other.close()
  expect(calls).toEqual(['note alice', 'ask alice', 'note alice'])
})

it('the users that a process knows do not have those among them who never charged, and the store is not asked again for each request of these', async () => {
  const { known, calls, pass } = world()
  for (let i = 0; i < 9; i++) expect(await known.lookUp('mallory')).toBe(false)
  expect(calls).toEqual(['ask mallory'])
  pass(DAY)
  await known.lookUp('mallory')
  expect(calls).toHaveLength(2)
})

it('the users that a process knows stay as they are while the store is out, which is asked again after a second', async () => {
  const { known, charge, pass, calls, out } = world()
  await charge('alice')
  pass(2 * DAY)
  out(true)
  known.note('alice')
  known.note('bob')
  await known.close()
  expect(known.isKnown('alice')).toBe(true)
  for (let i = 0; i < 9; i++) expect(await known.lookUp('carol')).toBe(false)
  expect(calls).toEqual(['note alice', 'note alice bob'])
  out(false)
  pass(1000)
  await charge('carol')
  expect(calls.at(-1)).toBe('note alice bob carol')
  pass(DAY)
  expect(known.isKnown('bob')).toBe(true)
})

it('the users that a process knows are forgotten by the process for want of room, and not by the store', async () => {
  const { known, charge, pass, calls } = world({ most: 10 })
  await charge('alice')
  pass(2 * DAY)
  for (let i = 0; i < 20; i++) await charge(`new-${i}`)
  expect(known.isKnown('alice')).toBe(false)
  expect(await known.lookUp('alice')).toBe(true)
  expect(calls.filter((call) => call === 'ask alice')).toHaveLength(1)
})

it('the users that a process knows are nobody without a reserve, and then nobody is noted either', async () => {
  let reserve: Reserve | undefined = RESERVE
  const { known, charge, pass, calls } = world({ reserve: () => reserve })
  await charge('alice')
  pass(2 * DAY)
  reserve = undefined
  expect(known.isKnown('alice')).toBe(false)
  await charge('bob')
  expect(await known.lookUp('carol')).toBe(false)
  expect(calls).toEqual(['note alice'])
  reserve = { ...RESERVE, knownAfterMs: 2 * DAY }
  expect(known.isKnown('alice')).toBe(true)
})
