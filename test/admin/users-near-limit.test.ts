import { expect, test } from 'vitest'
import { nearest } from '../../src/admin/users-near-limit.ts'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import type { UserUsage } from '../../src/quota/quota-store.ts'
import { configOf, NOW, YAML } from './running.ts'

const { config } = configOf(YAML)
const policy = createPolicy(config.quota)
const HOUR = 3600

function usage(user: string, used: number): UserUsage {
  return { user, counters: new Map([['read', [{ seconds: HOUR, startedAt: NOW, used }]]]) }
}

/** A scan of these steps. */
function scanOf(steps: readonly (readonly UserUsage[])[]) {
  return async (from: string | null) => {
    const i = Number(from ?? 0)
    return { at: NOW, users: steps[i] ?? [], next: i + 1 < steps.length ? String(i + 1) : null }
  }
}

function ask(steps: readonly (readonly UserUsage[])[], most = 1000, limit = 2, from: string | null = null) {
  const { signal } = new AbortController()
  const payersOf = async (users: readonly string[]) => users.map(payerOf)
  return nearest({ scan: scanOf(steps), from, most, limit, payersOf, matches: () => true, policy, signal })
}
const names = ({ users }: { readonly users: readonly UserUsage[] }) => users.map(({ user }) => user)

test('the first of all steps are found, however many users there are, and each once', async () => {
  const crowd = (n: number) => Array.from({ length: 50 }, (_, i) => usage(`user ${n}-${i}`, 10))
  const steps = [[usage('bob', 50), ...crowd(0)], [usage('alice', 60), ...crowd(1)], [usage('bob', 55)], crowd(2)]
  const found = await ask(steps)
  expect([names(found), found.next]).toEqual([['alice', 'bob'], null])
})

test('use of a category that the configuration no longer has counts nowhere', async () => {
  const gone = { user: 'a', counters: new Map([['gone', [{ seconds: HOUR, startedAt: NOW, used: 9 }]]]) }
  expect(names(await ask([[gone, usage('b', 1)]]))).toEqual(['b'])
})

test('a scan that is too long for one request ends early, and the next goes on behind it', async () => {
  const steps = [[usage('a', 1), usage('b', 2), usage('c', 3)], [usage('d', 4)], [usage('e', 5)]]
  const found = await ask(steps, 4)
  expect([names(found), found.next]).toEqual([['d', 'c'], '2'])
  expect(names(await ask(steps, 4, 2, found.next))).toEqual(['e'])
})
