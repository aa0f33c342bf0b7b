import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { everyStep } from '../../src/lib/steps.ts'
import type { Charge } from '../../src/quota/charge.ts'
import type { QuotaStore, UsageStore, Used } from '../../src/quota/quota-store.ts'
import { limits } from './quota-store.suite.ts'

export interface UsageStoreUnderTest {
  readonly store: QuotaStore & UsageStore
  close(): Promise<void>
}

/** User ids that a store might take for something else: separators, patterns, ends of a key, and the longest there are. */
export const STRANGE_IDS: readonly string[] = [
  'a',
  'A',
  'a:b',
  ':a',
  '{a}',
  '}',
  '*',
  '?[a-z]\\',
  '%',
  "'--",
  'a b',
  'a\nb',
  'a\r\n',
  '\u0000a',
  'c:a',
  '0',
  '__proto__',
  'constructor',
  'é',
  'e\u0301',
  '用户',
  '💥',
  'x'.repeat(256),
  '用'.repeat(85),
]

/** What every store must do for whoever looks through its users. */
export function usageStoreSuite(open: () => Promise<UsageStoreUnderTest>): void {
  let under: UsageStoreUnderTest
  let sequence: number
  beforeEach(async () => {
    under = await open()
    sequence = 0
  })
  afterEach(() => under.close())

  const OF = limits([10, 100], [10 ** 6, 10 ** 6])
  async function charge(users: readonly string[], cost = 1, category = 'read'): Promise<void> {
    const charges: Charge[] = users.map((user) => ({ user, organisation: null, category, cost, limits: OF }))
    for (let i = 0; i < charges.length; i += 256) {
      const batch = { instance: 'usage', sequence: ++sequence, refunds: [], charges: charges.slice(i, i + 256) }
      expect((await under.store.settle(batch)).every((decision) => decision.accepted)).toBe(true)
    }
  }
  async function scan(between: (step: number) => Promise<void> = async () => {}): Promise<Used[][]> {
    const steps: Used[][] = []
    for (let cursor: string | null = null; cursor !== null || steps.length === 0; ) {
      const step: Awaited<ReturnType<UsageStore['scanUsers']>> = await under.store.scanUsers(cursor)
      steps.push([...step.owners])
      cursor = step.next
      if (cursor !== null) await between(steps.length)
      else break
    }
    return steps
  }
  const names = (steps: readonly Used[][]): string[] => steps.flat().map(({ id }) => id)

  describe('looking through the users', () => {
    it('looking through the users of a fresh store finds nobody', async () => {
      expect((await scan()).flat()).toEqual([])
    })

    it('looking through the users gives for each, whatever characters the id holds, what was used in each category', async () => {
      await charge(STRANGE_IDS, 2)
      await charge(STRANGE_IDS.slice(0, 9), 3, 'write')
      const found = (await scan()).flat()
      expect(found.map(({ id }) => id).sort()).toEqual([...STRANGE_IDS].sort())
      for (const { id: user, counters } of found) {
        const { personal } = await under.store.readUsage(user, ['read', 'write'])
        expect(counters.get('read'), user).toEqual(personal[0])
        expect(counters.get('read')?.map(({ used }) => used)).toEqual([2, 2])
        expect(counters.get('write') ?? [], user).toEqual(personal[1])
        expect(counters.has('write')).toBe(STRANGE_IDS.indexOf(user) < 9)
      }
    })

    it('looking through the users gives organisations apart from the users of their names', async () => {
      const of = { ...OF, organisation: OF.personal }
      const charges = STRANGE_IDS.map((organisation): Charge => {
        return {
          user: 'alice',
          organisation,
          category: 'read',
          cost: 1,
          limits: { ...of, personal: [], global: null },
          forced: true,
        }
      })
      await under.store.settle({ instance: 'usage', sequence: ++sequence, refunds: [], charges })
      await charge(['alice', 'bob'])
      const found = new Map<string, Used['counters']>()
      for await (const { owners } of everyStep((from: string | null) => under.store.scanOrganisations(from))) {
        for (const { id, counters } of owners) found.set(id, counters)
      }
      expect([...found.keys()].sort()).toEqual([...STRANGE_IDS].sort())
      for (const counters of found.values()) expect(counters.get('read')?.map(({ used }) => used)).toEqual([1, 1])
      expect(names(await scan()).sort()).toEqual(['alice', 'bob'])
    })

    it('looking through the users counts the time of the store', async () => {
      await charge(['alice'])
      let step = await under.store.scanUsers(null)
      // A step of a cluster may find nobody.
      while (step.owners.length === 0 && step.next !== null) step = await under.store.scanUsers(step.next)
      const { at, owners } = step
      const started = owners[0]?.counters.get('read')?.[0]?.startedAt ?? 0
      expect(started).toBeGreaterThan(0)
      expect(at - started).toBeGreaterThanOrEqual(0)
      expect(at - started).toBeLessThan(600_000)
    })

    it('looking through the users takes several steps for many, and finds each once', async () => {
      const many = Array.from({ length: 3000 }, (_, i) => `user-${i}`)
      await charge(many)
      const steps = await scan()
      expect(steps.length).toBeGreaterThan(2)
      expect(names(steps).sort()).toEqual(many.sort())
    })

    it('looking through the users finds all who were there from its beginning to its end, while others come', async () => {
      const many = Array.from({ length: 3000 }, (_, i) => `user-${i}`)
      await charge(many)
      const steps = await scan((step) => charge(Array.from({ length: 300 }, (_, i) => `new-${step}-${i}`)))
      const found = new Set(names(steps))
      expect(many.filter((user) => !found.has(user))).toEqual([])
    })
  })
}
