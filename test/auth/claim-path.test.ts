import { describe, expect, it } from 'vitest'
import { forwardable } from '../../src/auth/claim-path.ts'
import type { IssuerOptions } from '../../src/auth/issuer.ts'
import { AUDIENCE, bench, claims, jwt } from './support.ts'

const SECRET = 'x'.repeat(64)

it('a claim by path may hold the user, the audience, the plan and the organisation', async () => {
  const paths = { userClaim: 'app.uid', audienceClaim: 'app.for', planClaim: 'app.plan', organisationClaim: 'org' }
  const app = { uid: 42, for: ['others', AUDIENCE], plan: 'pro' }
  expect(await judge({ app, org: 7, aud: undefined }, paths)).toEqual({
    ...{ user: '42', kind: 'jwt', plan: 'pro', organisation: '7', claims: {} },
  })
})

it.each([{ for: 'others' }, { for: { 0: AUDIENCE } }, { for: [AUDIENCE, 1] }, {}, 'text'])(
  'a claim by path that holds the audience and is %j lets nobody in, whatever aud says',
  async (app) => {
    expect(await judge({ app }, { audienceClaim: 'app.for' })).toMatchObject({
      reason: expect.stringContaining('claim app.for'),
    })
  },
)

it.each([null, undefined])('a claim by path that is %j names no plan and no organisation', async (nothing) => {
  const paths = { planClaim: 'plan', organisationClaim: 'app.org' }
  expect(await judge({ plan: nothing, app: { org: nothing } }, paths)).toMatchObject({
    plan: null,
    organisation: null,
  })
})

it.each(['', false, []])('a claim by path that is %j names no plan', async (nothing) => {
  expect(await judge({ plan: nothing }, { planClaim: 'plan' })).toMatchObject({ user: 'alice', plan: null })
})

it.each([
  [['everyone', 'free', 'pro'], 'free'],
  [['PRO', 'pro'], 'pro'],
  [['everyone', 'others'], 'everyone'],
  [[null, { name: 'pro' }, '', 7, 'pro'], 'pro'],
  [[null, 7, 'others'], '7'],
  [[null, '..'], null],
])(
  'a claim by path that is the list %j names the plan %j: the first that is configured, else the first name',
  async (list, plan) => {
    const plans = ['pro', 'free']
    expect(
      await judge({ app: { 'cognito:groups': list } }, { planClaim: 'app.cognito:groups' }, [], plans),
    ).toMatchObject({ plan })
  },
)

it.each(['', false, ['acme']])('a claim by path that is %j can be no organisation, and is refused', async (value) => {
  expect(await judge({ org: value }, { organisationClaim: 'org' })).toMatchObject({
    reason: 'org is no name of an organisation',
  })
})

it.each([true, 1.5, { name: 'pro' }, 'a\nb', '..'])(
  'a claim by path that is %j can be no plan and no organisation, and is refused',
  async (value) => {
    expect(await judge({ plan: value }, { planClaim: 'plan' })).toMatchObject({ reason: 'plan is no name of a plan' })
    expect(await judge({ app: { org: value } }, { organisationClaim: 'app.org' })).toMatchObject({
      reason: 'app.org is no name of an organisation',
    })
  },
)

it.each([
  [17, 17],
  ['31', 31],
  [1, 1],
  [null, undefined],
  ['', undefined],
  [false, undefined],
  [undefined, undefined],
])('a claim by path that is %j names the day %j with which months begin', async (value, periodDay) => {
  const caller = await judge({ app: { day: value } }, { periodDayClaim: 'app.day' })
  expect(caller).toMatchObject({ user: 'alice', plan: null })
  expect(Object.entries(caller)).toEqual(
    periodDay === undefined
      ? expect.not.arrayContaining([['periodDay', expect.anything()]])
      : expect.arrayContaining([['periodDay', periodDay]]),
  )
})

it.each([0, 32, -1, 1.5, 1e30, '017', '32', ' 17', 'last', true, [17], { day: 17 }])(
  'a claim by path that is %j can be no day with which months begin, and is refused',
  async (value) => {
    expect(await judge({ day: value }, { periodDayClaim: 'day' })).toMatchObject({
      code: 'unauthorized',
      reason: 'day is no day from 1 to 31',
    })
  },
)

it('a claim by path is read of a large payload too, once its signature holds', async () => {
  const many = Array.from({ length: 100 }, (_, i) => i)
  const paths = { userClaim: 'app.uid', planClaim: 'app.plan' }
  expect(await judge({ many, app: { uid: 'alice', plan: 'pro' } }, paths)).toMatchObject({
    user: 'alice',
    plan: 'pro',
  })
})

describe('a claim that is forwarded', () => {
  it('a claim that is forwarded is there under its path, as text, where the token has it', async () => {
    const wanted = ['email', 'app.admin', 'app.level', 'groups', 'nothing', 'app']
    const result = await judge(
      { email: 'a@example.org', app: { admin: true, level: 2.5 }, groups: ['a', 'b'] },
      {},
      wanted,
    )
    expect(result).toMatchObject({ user: 'alice' })
    expect('claims' in result && result.claims).toEqual({
      email: 'a@example.org',
      'app.admin': 'true',
      'app.level': '2.5',
      groups: 'a,b',
    })
  })

  it.each([
    ['"text"', 'text'],
    ['"ü"', 'ü'],
    ['1.50', '1.50'],
    ['false', 'false'],
    ['["a",1,true]', 'a,1,true'],
    [JSON.stringify('a'.repeat(4096)), 'a'.repeat(4096)],
  ])('%.20s is %.20s', (json, text) => {
    expect(forwardable(json)).toBe(text)
  })

  it.each([
    ...['null', '{}', '""', '[]', '[""]', '["a,admin"]', '[["a"]]', '[null]', '"a\\u0000"', '"a\\r\\nX-Admin: 1"'],
    ...['"\\ud800"', JSON.stringify('a'.repeat(4097)), JSON.stringify('ü'.repeat(2049))],
  ])('%.20s is not forwarded', (json) => {
    expect(forwardable(json)).toBe(null)
  })
})

async function judge(
  changes: Record<string, unknown>,
  issuer: Partial<IssuerOptions> = {},
  wanted: string[] = [],
  plans: string[] = [],
) {
  const rules = { keys: { kind: 'secret', secret: SECRET }, algorithms: ['HS256'], ...issuer } as const
  const { ask, auth } = await bench([rules], { claims: wanted, plans })
  const result = await ask(jwt({ key: SECRET, alg: 'HS256', payload: claims(changes) }))
  auth.close()
  return result
}
