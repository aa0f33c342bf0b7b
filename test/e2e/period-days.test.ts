/// <reference lib="esnext.temporal" />
import { join } from 'node:path'
import { fetch } from 'undici'
import { beforeEach, describe, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** Months that begin with a day of one's own, told the same everywhere, over two gateways and both stores. */

const ADMIN = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
const SOON = { timeout: 30_000, interval: 20 }
const ZONE = 'Asia/Shanghai'

let upstream: Upstream
beforeEach(async () => {
  upstream = await startUpstream()
})

/** By Temporal. */
function monthFrom(day: number, moment: number): { startedAt: string; resetAt: string } {
  const month = Temporal.Instant.fromEpochMilliseconds(moment).toZonedDateTimeISO(ZONE).toPlainDate().toPlainYearMonth()
  const starts = [-2, -1, 0, 1, 2].map((months) => {
    const of = month.add({ months })
    const first = of.toPlainDate({ day: Math.min(day, of.daysInMonth) })
    return first.toZonedDateTime({ timeZone: ZONE }).epochMilliseconds
  })
  const at = starts.findLastIndex((start) => start <= moment)
  const iso = (i: number): string => new Date(starts[i] as number).toISOString()
  return { startedAt: iso(at), resetAt: iso(at + 1) }
}

interface World {
  readonly store?: string
  readonly more?: string
  readonly plans?: string
  readonly claims?: string
}

const text = ({ store, more = '', plans = '{ late: { period_day: 15 }, plain: {} }', claims = '' }: World) =>
  yaml(
    upstream.url,
    `
quota:
  windows: { month: { calendar: month, zone: ${ZONE} } }
  retry_after_max: 1d
  baselines: { personal: { read: { month: 3 } }, global: { read: { month: 1000 } } }
  plans: ${plans}
routes: [{ match: "GET /*", category: read }]
${more}`,
    store,
  ).replace('secret:', `plan_claim: plan, organisation_claim: org, ${claims} secret:`)

/** One by one: the first makes the file of an embedded store. */
async function start(world: World): Promise<[RunningApp, RunningApp]> {
  return [await startApp(text(world)), await startApp(text(world))]
}

const ask = (app: RunningApp, user: string, claims: Record<string, unknown>, path = '/x') =>
  fetch(app.url + path, { headers: { authorization: `Bearer ${jwtOf(user, claims)}` } })
/** Sets an override, and waits until each gateway enforces it. */
async function set(running: readonly RunningApp[], of: string, body: Record<string, unknown>): Promise<void> {
  const options = { method: 'PUT', headers: ADMIN, body: JSON.stringify(body) }
  expect((await fetch(`${running[0]?.admin}${of}/override`, options)).status).toBe(200)
  const kind = of.includes('users') ? 'users' : 'organisations'
  for (const app of running)
    await expect
      .poll(async () => (await admin(app, `/api/in-force/${kind}`))[kind][0]?.override.periodDay, SOON)
      .toBe(body.periodDay)
}

async function admin(app: RunningApp, path: string) {
  const response = await fetch(app.admin + path, { headers: ADMIN })
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  return (await response.json()) as any
}

const CLAIM = 'period_day_claim: bill.day,'

const OVER = [
  [
    'one Redis',
    async () => {
      const { url, prefix } = await sharedRedis()
      return { store: url, more: `store_options: { prefix: ${prefix}, deadline: 10s }` }
    },
  ],
  ['one embedded store', async () => ({ store: `sqlite:${join(tempFolder(), 'quota.db')}` })],
] as const

/** How it is said with which day the months of alice begin. */
const SAID = [
  { by: 'plan', claims: { plan: 'late' }, says: 'plan late' },
  { by: 'claim', claims: { plan: 'plain', bill: { day: '15' } }, says: 'the credential' },
  { by: 'override', claims: { plan: 'late', bill: { day: 3 } }, says: 'override (a contract)' },
] as const

const cases = SAID.flatMap((said) => OVER.map(([name, open]) => ({ ...said, name, open })))

describe('a period day', () => {
  it.each(cases)(
    'the period day that the $by gives is told alike by 429, fields, /me/quota, usage, users, refusals and explain, by two gateways over $name',
    async ({ by, open, claims, says }) => {
      const world = await open()
      const [one, two] = await start({ ...world, claims: CLAIM })
      const { startedAt, resetAt } = monthFrom(15, Date.now())
      if (by === 'override') await set([one, two], '/api/users/alice', { periodDay: 15, reason: 'a contract' })
      for (const app of [one, two, one]) expect((await ask(app, 'alice', claims)).status).toBe(200)
      const refused = await ask(two, 'alice', claims)
      const { msg, retryAfterSeconds, ...body } = (await refused.json()) as Record<string, unknown>
      expect([refused.status, refused.headers.get('x-quota-reset')]).toEqual([429, resetAt])
      expect(Number(retryAfterSeconds)).toBe(Math.ceil((Date.parse(resetAt) - Number(settledAt(two))) / 1000))
      expect(msg).toContain('Personal monthly read quota is used up. Requests may continue after ')
      expect(body).toEqual({
        error: 'quota_exceeded',
        quota: {
          ...{ scope: 'Personal', category: 'read', window: 'month', limit: 3, used: 3, requested: 1, resetAt },
          ...{ retryAtBeijing: inShanghai(resetAt), timeZone: 'Asia/Shanghai' },
        },
      })
      const length = (Date.parse(resetAt) - Date.parse(startedAt)) / 1000
      expect(refused.headers.get('ratelimit-policy')).toContain(`"personal-read-month";q=3;w=${length},`)
      const quota = (await (await ask(one, 'alice', claims, '/me/quota')).json()) as { windows: { read: unknown[] } }
      const usual = monthFrom(1, Date.now())
      expect(quota.windows.read).toMatchObject([
        { startedAt, resetAt, used: 3 },
        { scope: 'Global', ...usual },
      ])
      const asked = '?window=month&step=run'
      const usage = (await (await ask(two, 'alice', claims, `/me/usage${asked}`)).json()) as { rows: unknown[] }
      expect(usage.rows).toMatchObject([{ start: startedAt, end: resetAt, tokens: 3, running: true }])
      await expect.poll(() => admin(one, '/api/users/alice'), SOON).toMatchObject({ plan: { name: claims.plan } })
      expect(await admin(one, '/api/users/alice')).toMatchObject({
        periodDay: { day: 15, from: by === 'claim' ? 'credential' : by },
        windows: { read: [{ startedAt, resetAt }, usual] },
      })
      expect((await admin(two, `/api/usage${asked}&by=user`)).rows).toMatchObject([{ start: startedAt, end: resetAt }])
      const [limit] = (await admin(two, '/api/explain?user=alice&method=GET&path=/x')).limits
      expect(limit.steps).toContain(`months begin with day 15: ${says}`)
      const plans = (await admin(two, '/api/plans')).plans.map(({ name, periodDay }: Record<string, unknown>) => ({
        name,
        periodDay,
      }))
      expect(plans).toEqual([{ name: 'late', periodDay: 15 }, { name: 'plain' }])
      await expect.poll(() => admin(one, '/api/refusals'), SOON).toMatchObject({ refusals: [{ until: resetAt }] })
    },
  )

  it.each(OVER)(
    'the day of a claim counts before that of the plan, for the user and the organisation, and administrators know it later, over %s',
    async (_, open) => {
      const world = await open()
      const plans = '{ late: { period_day: 15, organisation: { read: { month: 5 } } } }'
      const [one, two] = await start({ ...world, plans, claims: CLAIM })
      const claims = { plan: 'late', org: 'acme', bill: { day: 31 } }
      expect((await ask(one, 'alice', claims)).status).toBe(200)
      const own = monthFrom(31, Date.now())
      const quota = (await (await ask(two, 'alice', claims, '/me/quota')).json()) as { windows: { read: unknown[] } }
      expect(quota.windows.read).toMatchObject([{ ...own, used: 1 }, { ...own, used: 1 }, monthFrom(1, Date.now())])
      await expect
        .poll(async () => (await admin(two, '/api/organisations/acme')).windows?.read, SOON)
        .toMatchObject([{ ...own, used: 1 }])
      await expect
        .poll(async () => (await admin(two, '/api/users/alice')).windows.read, SOON)
        .toMatchObject([{ ...own, used: 1 }, own, {}])
      const rows = async (by: string) => (await admin(one, `/api/usage?window=month&step=run&by=${by}`)).rows
      for (const by of ['user', 'organisation'])
        expect(await rows(by)).toMatchObject([{ start: own.startedAt, end: own.resetAt, tokens: 1 }])
      expect(await admin(two, '/api/users/alice/export')).toMatchObject({ periodDay: 31, organisation: 'acme' })
      const [limit] = (await admin(one, '/api/explain?user=alice&method=GET&path=/x')).limits
      expect(limit.steps).toContain('months begin with day 31: the credential')
    },
  )

  it.each(OVER)(
    'the record of a request has the day that a credential or an override says, and none that the configuration says, over %s',
    async (_, open) => {
      const world = await open()
      const [one, two] = await start({ ...world, claims: CLAIM })
      const daysOf = async (user: string, claims: Record<string, unknown>) => {
        const [before, { status }] = [one.observations.length, await ask(one, user, claims)]
        expect(status).toBe(200)
        const found = () => one.observations.slice(before).find(({ type }) => type === 'request')
        await expect.poll(found, SOON).toBeDefined()
        return (found() as Extract<RunningApp['observations'][number], { type: 'request' }>).days
      }
      expect(await daysOf('ann', { plan: 'late', org: 'acme' })).toBeUndefined()
      expect(await daysOf('ann', { plan: 'plain' })).toBeUndefined()
      expect(await daysOf('ann', { plan: 'late', org: 'acme', bill: { day: 3 } })).toEqual({ periodDay: 3 })
      await set([one, two], '/api/organisations/acme', { periodDay: 9, reason: 'a contract' })
      expect(await daysOf('bob', { plan: 'late', org: 'acme' })).toEqual({ organisationDay: 9 })
      await set([one, two], '/api/users/bob', { periodDay: 7, reason: 'a contract' })
      expect(await daysOf('bob', { plan: 'late', org: 'beta' })).toEqual({ periodDay: 7, organisationDay: null })
      expect(await daysOf('bob', { plan: 'late', org: 'acme', bill: { day: 3 } })).toEqual({
        periodDay: 7,
        organisationDay: 9,
      })
    },
  )

  it.each(OVER)(
    'an override gives an organisation a day of its own, by API and by file, until it ends or is undone, and the audit has it, over %s',
    async (_, open) => {
      const world = await open()
      const plans = '{ late: { period_day: 15, organisation: { read: { month: 50 } } } }'
      const [one, two] = await start({ ...world, plans, claims: CLAIM })
      const claims = { plan: 'late', org: 'acme' }
      const theirs = async (app: RunningApp) => {
        const quota = (await (await ask(app, 'alice', claims, '/me/quota')).json()) as { windows: { read: unknown[] } }
        return quota.windows.read[1]
      }
      expect((await ask(one, 'alice', claims)).status).toBe(200)
      await set([one, two], '/api/organisations/acme', { periodDay: 31, reason: 'a contract' })
      await expect.poll(() => theirs(two), SOON).toMatchObject({ scope: 'Organisation', ...monthFrom(31, Date.now()) })
      const file = await fetch(`${one.admin}/api/overrides`, { headers: ADMIN })
      expect(JSON.parse(await file.text())).toEqual({ organisation: 'acme', periodDay: 31, reason: 'a contract' })
      const expiresAt = new Date(Date.now() + 5000).toISOString()
      const body = JSON.stringify({ periodDay: 5, reason: 'a trial', expiresAt })
      const put = await fetch(`${two.admin}/api/organisations/acme/override`, { method: 'PUT', headers: ADMIN, body })
      expect(await put.json()).toMatchObject({ periodDay: 5, expiresAt })
      const day = async () => (await admin(two, '/api/organisations/acme')).periodDay
      await expect.poll(day, SOON).toEqual({ day: 31, from: 'override' })
      await expect.poll(() => theirs(one), SOON).toMatchObject(monthFrom(31, Date.now()))
      const { entries } = await admin(two, '/api/audit')
      expect(entries[0]).toMatchObject({ from: { periodDay: 31 }, to: { layers: [{ value: { periodDay: 5 } }] } })
      expect(entries.at(-1)).toMatchObject({ subject: 'acme', from: null, to: { periodDay: 31 } })
      const { version } = await admin(one, '/api/organisations/acme').then(({ override }) => override)
      const back = { method: 'DELETE', headers: { ...ADMIN, 'if-match': `"${version}"` } }
      expect((await fetch(`${two.admin}/api/organisations/acme/override`, back)).status).toBe(200)
      await expect.poll(() => theirs(two), SOON).toMatchObject(monthFrom(15, Date.now()))
      const [removal] = (await admin(two, '/api/audit')).entries
      const undo = { method: 'POST', headers: ADMIN, body: JSON.stringify({ reason: 'by mistake' }) }
      expect((await fetch(`${two.admin}/api/audit/${removal.version}/undo`, undo)).status).toBe(200)
      await expect.poll(() => theirs(one), SOON).toMatchObject(monthFrom(31, Date.now()))
    },
  )

  it('a claim that is no day is a 401, as one that can be no plan is', async () => {
    const [one] = await start({ claims: CLAIM })
    for (const day of [0, 32, 'last', true]) {
      expect((await ask(one, 'alice', { bill: { day } })).status).toBe(401)
    }
    expect((await ask(one, 'alice', { bill: {} })).status).toBe(200)
  })
})

function settledAt({ observations }: RunningApp): number | undefined {
  const refused = observations.findLast((seen) => seen.type === 'settled' && seen.kind === 'refused')
  return refused?.type === 'settled' ? refused.decision?.at : undefined
}

function inShanghai(moment: string): string {
  return `${Temporal.Instant.from(moment).toZonedDateTimeISO('Asia/Shanghai').toPlainDate()} 00:00:00`
}
