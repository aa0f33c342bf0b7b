import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Charge } from '../../../src/quota/charge.ts'
import { createPolicy } from '../../../src/quota/policy.ts'
import { configOf, NOW, type Running, startAdmin, YAML } from '../running.ts'

const PLANS = YAML.replace(
  'quota:\n',
  `quota:
  plans:
    team: { organisation: { read: { 1h: 50, 5h: 90 } } }
    pro: { organisation: { read: { 1h: 70 } } }
`,
)
const { config } = configOf(PLANS)

let running: Running
let sequence = 0
beforeEach(async () => {
  running = await startAdmin({ yaml: PLANS, now: () => NOW })
})
afterEach(() => running.stop())

/** Has organisations use tokens, by one user of each. */
async function spend(organisations: readonly string[], cost = 10, category = 'read'): Promise<void> {
  const charges = organisations.map((organisation): Charge => {
    const payer = { user: `user of ${organisation}`, organisation, plan: 'team' }
    const limits = createPolicy(config.quota).limitsFor(category, payer)
    return { user: payer.user, organisation, category, cost, limits, forced: true }
  })
  await running.store.settle({ instance: 'test', sequence: ++sequence, refunds: [], charges })
}
const get = (path: string) => running.call('GET', path)

test('an organisation is shown with what its users have used together, and what each plan allows', async () => {
  await spend(['acme', 'acme', 'other'])
  expect((await get('/api/organisations/acme')).json).toEqual({
    organisation: 'acme',
    windows: {
      read: [
        {
          window: '1h',
          limits: { team: 50, pro: 70 },
          used: 20,
          startedAt: '2026-11-20T10:10:00.000Z',
          resetAt: '2026-11-20T11:10:00.000Z',
        },
        {
          window: '5h',
          limits: { team: 90 },
          used: 20,
          startedAt: '2026-11-20T10:10:00.000Z',
          resetAt: '2026-11-20T15:10:00.000Z',
        },
      ],
      write: [],
    },
  })
})

test('one that has used nothing is shown with windows that do not run', async () => {
  const { json } = await get('/api/organisations/nobody')
  expect(json.windows.read[0]).toEqual({
    window: '1h',
    limits: { team: 50, pro: 70 },
    used: 0,
    startedAt: null,
    resetAt: null,
  })
})

test('the list has those that have used something, each once over its pages', async () => {
  const all = ['a/b', '100%', '用户', ...Array.from({ length: 300 }, (_, i) => `org ${i}`)]
  await spend(all)
  const found: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { json } = await get(`/api/organisations?limit=70${cursor && `&cursor=${cursor}`}`)
    expect(json.organisations.length).toBeLessThanOrEqual(70)
    for (const { organisation, windows } of json.organisations) {
      found.push(organisation)
      expect(windows.read[0].used).toBe(10)
    }
    cursor = json.next
  }
  expect(found.sort()).toEqual(all.sort())
})

test('a search finds a part of the id in any letter case, and the one of that very id first', async () => {
  await spend(['acme', 'ACME east', 'other'])
  const names = async (query: string) =>
    (await get(`/api/organisations?query=${query}`)).json.organisations.map(
      (each: { organisation: string }) => each.organisation,
    )
  expect(await names('acme')).toEqual(['acme', 'ACME east'])
  expect(await names('zzz')).toEqual([])
  expect((await get('/api/organisations?cursor=x')).json.problems).toMatchObject([{ path: 'cursor' }])
})

test('a reset empties its windows in every category, and those of nobody else', async () => {
  await spend(['acme', 'other'])
  const { status } = await running.call('POST', '/api/organisations/acme/reset', {
    body: { reason: 'a client in a loop' },
  })
  expect(status).toBe(204)
  const used = async (id: string) => (await get(`/api/organisations/${id}`)).json.windows.read[0].used
  expect([await used('acme'), await used('other')]).toEqual([0, 10])
  expect((await get('/api/users/user%20of%20acme')).json.windows.read[0].used).toBe(10)
  const { entries } = (await get('/api/audit')).json
  expect(entries.map(({ subject, why }: Record<string, string>) => [subject, why])).toEqual([
    ['organisation:write:acme', 'a client in a loop'],
    ['organisation:read:acme', 'a client in a loop'],
  ])
})

test('one window of one category is emptied by the reset of shared windows', async () => {
  await spend(['acme'])
  const body = { scope: 'organisation', organisation: 'acme', category: 'read', window: '1h', reason: 'a load test' }
  expect(await running.call('POST', '/api/quota/reset', { body })).toMatchObject({
    status: 200,
    json: { from: { '1h': 10 } },
  })
  expect((await get('/api/organisations/acme')).json.windows.read).toMatchObject([{ used: 0 }, { used: 10 }])
  expect((await get('/api/quota')).json.windows.read[0].used).toBe(10)
})

test('an id that no organisation can have is refused', async () => {
  const { status, json } = await get(`/api/organisations/${'x'.repeat(257)}`)
  expect([status, json.problems]).toEqual([
    400,
    [{ path: 'id', msg: expect.stringContaining('must be an organisation') }],
  ])
})

test('a reset wants a reason', async () => {
  const { json } = await running.call('POST', '/api/organisations/acme/reset', { body: {} })
  expect(json.problems).toMatchObject([{ path: 'reason' }])
})
