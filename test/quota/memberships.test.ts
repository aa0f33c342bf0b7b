import { expect, it } from 'vitest'
import { Memberships } from '../../src/quota/memberships.ts'
import type { Payer } from '../../src/quota/policy.ts'
import { StoreError } from '../../src/quota/quota-store.ts'

const DAY = 86_400_000
const of = (user: string, plan: string | null = 'pro', organisation: string | null = null): Payer => ({
  user,
  plan,
  organisation,
})

/** A process that notes at once, and what it has the store note. */
function world(noting: (payers: readonly Payer[]) => Promise<void> = async () => {}, most?: number) {
  let time = 1000
  const calls: Payer[][] = []
  const memberships = new Memberships({
    store: {
      noteMemberships: async (payers) => {
        calls.push([...payers])
        await noting(payers)
      },
    },
    gatherMs: 0,
    now: () => time,
    ...(most !== undefined && { most }),
  })
  return {
    memberships,
    calls,
    pass: (ms: number) => {
      time += ms
    },
  }
}

it('what credentials name is noted together for all users, once for each', async () => {
  const { memberships, calls } = world()
  for (const user of ['alice', 'bob', 'alice']) memberships.note({ ...of(user), ...{ claims: {} } })
  await memberships.close()
  expect(calls).toEqual([[of('alice'), of('bob')]])
})

it('what credentials name is noted again when it is something else, and after a day', async () => {
  const { memberships, calls, pass } = world()
  const note = async (payer: Payer) => {
    memberships.note(payer)
    await memberships.close()
    return calls.splice(0).flat()
  }
  expect(await note(of('alice'))).toEqual([of('alice')])
  pass(DAY - 1)
  expect(await note(of('alice'))).toEqual([])
  expect(await note(of('alice', 'pro', 'acme'))).toEqual([of('alice', 'pro', 'acme')])
  expect(await note(of('alice', null))).toEqual([of('alice', null)])
  pass(DAY)
  expect(await note(of('alice', null))).toEqual([of('alice', null)])
})

it('what credentials name that changes while it is being noted is noted once more', async () => {
  const { memberships, calls } = world(async () => {
    if (calls.length === 1) memberships.note(of('alice', 'free'))
  })
  memberships.note(of('alice'))
  await memberships.close()
  expect(calls).toEqual([[of('alice')], [of('alice', 'free')]])
})

it('what credentials name is noted when the store is back', async () => {
  let isOut = true
  const { memberships, calls } = world(async () => {
    if (isOut) throw new StoreError('out', 'timeout', 'no')
  })
  memberships.note(of('alice'))
  await memberships.close()
  expect(calls).toEqual([[of('alice')]])
  isOut = false
  await memberships.close()
  expect(calls).toEqual([[of('alice')], [of('alice')]])
  await memberships.close()
  expect(calls).toHaveLength(2)
})

it('what credentials name goes to the store in steps of 256, and of more users than there is room for nothing is kept', async () => {
  const { memberships, calls } = world(undefined, 300)
  for (let i = 0; i < 1000; i++) memberships.note(of(`user ${i}`))
  await memberships.close()
  expect(calls.map(({ length }) => length)).toEqual([256, 44])
})
