import { expect, it } from 'vitest'
import { SharedChecks } from '../../src/auth/shared-checks.ts'
import { callerOf } from '../../src/auth/verdict.ts'

it('the last of the party that has most of those who join the check of one credential leaves for one of a party that has fewer', async () => {
  const checks = new SharedChecks()
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof callerOf>>()
  const alice = callerOf('alice', 'introspected')
  const first = checks.start('key', 0, () => promise)
  const crowd = Array.from({ length: 257 }, () => checks.join('key', 0, () => 'crowd'))
  expect(await crowd[256]).toMatchObject({ code: 'overloaded' })
  const other = checks.join('key', 0, () => 'other')
  expect(await crowd[255]).toMatchObject({ code: 'overloaded' })
  resolve(alice)
  expect(await Promise.all([first, crowd[0], crowd[254], other])).toEqual([alice, alice, alice, alice])
})

it('who joined has a place no longer when the check is over', async () => {
  const checks = new SharedChecks()
  for (let round = 0; round < 3; round++) {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof callerOf>>()
    const alice = callerOf('alice', 'jwt')
    void checks.start('key', 0, () => promise)
    const joined = Array.from({ length: 256 }, () => checks.join('key', 0, () => 'one'))
    resolve(alice)
    expect(new Set(await Promise.all(joined))).toEqual(new Set([alice]))
  }
})
