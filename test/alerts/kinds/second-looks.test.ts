import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSecondLooks, type Noted } from '../../../src/alerts/kinds/second-looks.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { settled } from '../../observe/settled.ts'
import { closedAtEnd } from '../../setup/at-end.ts'

const limits = {
  personal: [{ window: { name: '1h', seconds: 3600 }, limit: 10 }],
  organisation: null,
  global: [{ window: { name: '1h', seconds: 3600 }, limit: 100 }],
}

it('a look that the store did not reply to is made again, and corrections of one user that wait share one', async () => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:' }))
  const { charge, ...corrected } = settled({ kind: 'corrected', tokens: 5, cost: 4, category: 'read' })
  const ofAlice = { ...charge, limits }
  await store.settle({ instance: 'i', sequence: 1, refunds: [], charges: [ofAlice] })
  const noted: Noted[] = []
  let asked = 0
  const looks = createSecondLooks({
    store: {
      readUsage: (...of) => {
        asked++
        return asked === 1 ? Promise.reject(new StoreError('out', 'timeout', 'no')) : store.readUsage(...of)
      },
    },
    note: (outcome) => void noted.push(outcome),
    onError: (error) => expect.unreachable(String(error)),
    pause: async () => {},
  })
  for (let i = 0; i < 5; i++) looks.add({ ...corrected, charge: ofAlice })
  await expect.poll(() => noted.length).toBeGreaterThanOrEqual(1)
  expect(noted[0]).toMatchObject({
    isVerified: true,
    decision: { accepted: true, personal: [{ used: 4 }], organisation: null, global: [{ used: 4 }] },
  })
  expect(asked).toBeLessThan(5)
  looks.close()
})

it('a look that fails after the close is not made again, and none is begun', async () => {
  const { charge, ...corrected } = settled({ kind: 'corrected', tokens: 5, cost: 4, category: 'read' })
  const failing = Promise.withResolvers<never>()
  let asked = 0
  const looks = createSecondLooks({
    store: {
      readUsage: () => {
        asked++
        return failing.promise
      },
    },
    note: () => expect.unreachable(),
    onError: (error) => expect.unreachable(String(error)),
    pause: () => setImmediate(),
  })
  const add = () => looks.add({ ...corrected, charge: { ...charge, limits } })
  add()
  looks.close()
  failing.reject(new StoreError('out', 'timeout', 'no'))
  for (let i = 0; i < 5; i++) {
    await setImmediate()
    add()
  }
  expect(asked).toBe(1)
})
