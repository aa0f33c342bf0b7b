import { expect, test } from 'vitest'
import { asOverrides } from '../../../src/control/overrides.ts'
import type { ControlState } from '../../../src/control/state.ts'
import { createPolicy } from '../../../src/quota/policy.ts'
import { configOf, type Running, startAdmin, YAML } from '../running.ts'

/** What routes say and do of months that begin with a day of their own, when that of the file is over. */

/** Of a plan that everybody has, and of a claim. */
const SAID = {
  plan: { plans: '{ late: { period_day: 15, organisation: { read: { month: 400 } } } }', claim: '', periodDay: {} },
  claim: {
    plans: '{ late: { organisation: { read: { month: 400 } } } }',
    claim: 'period_day_claim: day, ',
    periodDay: { periodDay: 15 },
  },
  override: { plans: '{ late: { organisation: { read: { month: 400 } } } }', claim: '', periodDay: {} },
}
type By = keyof typeof SAID
const yamlOf = ({ plans, claim }: (typeof SAID)[By]): string =>
  YAML.replace(
    /quota:\n {2}baselines:[\s\S]*?routes:/,
    `quota:
  windows: { month: { calendar: month, zone: UTC } }
  baselines: { personal: { read: { month: 100 }, write: { month: 100 } } }
  plans: ${plans}
  default_plan: late
routes:`,
  ).replace(
    'gateway_tokens: true',
    `jwt: [{ ${claim}issuer: a, audience: b, jwks: "https://a.example.org/keys", algorithms: [ES256] }]`,
  )

let running: Running
let clock: number

async function start(by: By): Promise<void> {
  clock = Date.parse('2026-11-20T10:00:00Z')
  const yaml = yamlOf(SAID[by])
  running = await startAdmin({ yaml, now: () => clock })
  if (by === 'override') {
    for (const of of ['/api/users/anna', '/api/organisations/acme'])
      await running.call('PUT', `${of}/override`, { body: { periodDay: 15, reason: 'a contract' } })
  }
  const anna = { user: 'anna', organisation: 'acme', plan: 'late', ...SAID[by].periodDay }
  const control = (await running.store.readControl()) as ControlState
  const limits = createPolicy(configOf(yaml).config.quota, 1, asOverrides(control)).limitsFor('read', anna)
  const charge = { user: 'anna', organisation: 'acme', category: 'read', cost: 90, limits }
  await running.store.settle({ instance: 'test', sequence: 1, refunds: [], charges: [charge] })
  await running.store.noteMemberships([anna], 35 * 86_400_000)
  clock = Date.parse('2026-12-05T10:00:00Z')
}

test.each(['plan', 'claim', 'override'] as const)(
  'users are counted by what their own month by the %s has, also when the month of the file has begun anew',
  async (by) => {
    await start(by)
    const { json } = await running.call('GET', '/api/quota/distribution?category=read&window=month')
    expect([json.counted, json.percentiles[100]]).toEqual([1, 90])
  },
)

test.each(['plan', 'claim', 'override'] as const)(
  'lists have who has used something of the own month by the %s, also when the month of the file has begun anew',
  async (by) => {
    await start(by)
    const users = (await running.call('GET', '/api/users?order=use')).json
    expect(users.users.map(({ user, tokens }: { user: string; tokens: number }) => [user, tokens])).toEqual([
      ['anna', 90],
    ])
    const { organisations } = (await running.call('GET', '/api/organisations?order=use')).json
    expect(
      organisations.map((each: { organisation: string; tokens: number }) => [each.organisation, each.tokens]),
    ).toEqual([['acme', 90]])
    clock = Date.parse('2026-12-16T10:00:00Z')
    const later = (await running.call('GET', '/api/users/anna')).json
    expect(later.windows.read[0].used).toBe(0)
  },
)

const RESETS = [
  ['/api/organisations/acme/reset', { reason: 'a new contract' }],
  ['/api/quota/reset', { scope: 'organisation', organisation: 'acme', category: 'read', reason: 'a new contract' }],
] as const
const CASES = (['plan', 'claim', 'override'] as const).flatMap((by) =>
  RESETS.map(([path, body]) => ({ by, path, body })),
)

test.each(CASES)(
  '$path empties the month that the organisation has by the $by, and the audit says what was in it',
  async ({ by, path, body }) => {
    await start(by)
    const used = async () => (await running.call('GET', '/api/organisations/acme')).json.windows.read[0].used
    expect(await used()).toBe(90)
    expect((await running.call('POST', path, { body })).status).toBeLessThan(300)
    expect(await used()).toBe(0)
    const { json } = await running.call('GET', '/api/audit?limit=20')
    const entry = json.entries.find(({ subject }: { subject: string }) => subject.endsWith('read:acme'))
    expect(entry.from).toEqual({ month: 90 })
  },
)
