import { expect, test } from 'vitest'
import { nearest } from '../../src/admin/near-limit.ts'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import type { Used } from '../../src/quota/quota-store.ts'
import { configOf, NOW, YAML } from './running.ts'

const { config } = configOf(YAML)
const policy = createPolicy(config.quota)
const HOUR = 3600

function usage(id: string, used: number): Used {
  return { id, counters: new Map([['read', [{ seconds: HOUR, startedAt: NOW, used }]]]) }
}

/** A scan of these steps. */
function scanOf(steps: readonly (readonly Used[])[]) {
  return async (from: string | null) => {
    const i = Number(from ?? 0)
    return { at: NOW, owners: steps[i] ?? [], next: i + 1 < steps.length ? String(i + 1) : null }
  }
}

const entitlementsOf = async (ids: readonly string[]) =>
  ids.map((id) => ({
    limitsOf: (category: string) => policy.limitsFor(category, payerOf(id)).personal,
    plan: null,
    isBlocked: () => false,
  }))

function ask(steps: readonly (readonly Used[])[], most = 1000, limit = 2, from: string | null = null, mostSteps = 100) {
  const { signal } = new AbortController()
  const { categories } = policy
  return nearest({
    ...{ scan: scanOf(steps), from, most, mostSteps, limit, entitlementsOf, categories, signal },
    matches: () => true,
  })
}
const names = ({ found }: { readonly found: readonly Used[] }) => found.map(({ id }) => id)

test('the first of all steps are found, however many users there are, and each once', async () => {
  const crowd = (n: number) => Array.from({ length: 50 }, (_, i) => usage(`user ${n}-${i}`, 10))
  const steps = [[usage('bob', 50), ...crowd(0)], [usage('alice', 60), ...crowd(1)], [usage('bob', 55)], crowd(2)]
  const found = await ask(steps)
  expect([names(found), found.next]).toEqual([['alice', 'bob'], null])
})

test('use of a category that the configuration no longer has counts nowhere', async () => {
  const gone = { id: 'a', counters: new Map([['gone', [{ seconds: HOUR, startedAt: NOW, used: 9 }]]]) }
  expect(names(await ask([[gone, usage('b', 1)]]))).toEqual(['b'])
})

test('a scan that is too long for one request ends early, and the next goes on behind it', async () => {
  const steps = [[usage('a', 1), usage('b', 2), usage('c', 3)], [usage('d', 4)], [usage('e', 5)]]
  const found = await ask(steps, 4)
  expect([names(found), found.next]).toEqual([['d', 'c'], '2'])
  expect(names(await ask(steps, 4, 2, found.next))).toEqual(['e'])
})

test('a scan whose steps find nobody ends early too', async () => {
  const found = await ask([[], [], [], [usage('a', 1)]], 1000, 2, null, 3)
  expect([names(found), found.next]).toEqual([[], '3'])
})
