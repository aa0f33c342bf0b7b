import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OVERRIDES } from '../../src/control/forms.ts'
import { asOverrides, organisationOverrideFrom, overrideFrom } from '../../src/control/overrides.ts'
import type { FileSettings } from '../../src/control/settings.ts'
import { UNCHANGED } from '../../src/control/state.ts'
import { LONGEST_SECONDS } from '../../src/quota/calendar.ts'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import { table } from '../quota/settings.ts'
import { FILE } from './settings-of-a-file.ts'

const NOW = Date.UTC(2026, 7, 6, 15)
const read = (body: unknown) => overrideFrom(body, FILE, NOW)
const told = (body: unknown) => {
  const reading = read(body)
  return 'problems' in reading ? reading.problems.map(({ path, msg }) => `${path}: ${msg}`) : []
}

describe('an override', () => {
  it('an override has limits by category and window, beside everything else', () => {
    const body = {
      read: { '1h': 500 },
      write: { '1d': 0 },
      bypassGlobal: true,
      shadow: true,
      reason: 'load test',
      expiresAt: '2026-08-07T00:00:00+08:00',
    }
    expect(read(body)).toEqual({
      override: {
        limits: { read: { '1h': 500 }, write: { '1d': 0 } },
        bypassGlobal: true,
        shadow: true,
        reason: 'load test',
        expiresAt: Date.UTC(2026, 7, 6, 16),
      },
    })
  })

  it('an override follows the default if a value is missing or null, and has no end of itself', () => {
    const body = { read: { '1h': 5, '1d': null }, write: null, bypassGlobal: null, expiresAt: null, reason: 'why not' }
    expect(read(body)).toEqual({
      override: {
        limits: { read: { '1h': 5 } },
        bypassGlobal: false,
        shadow: false,
        reason: 'why not',
        expiresAt: null,
      },
    })
  })

  it('an override may set a soft limit, whose parts its factor multiplies, and whose trace names both', () => {
    const read = overrideFrom({ read: { '1h': { limit: 500, over: 50 } }, factor: 2, reason: 'a launch' }, FILE, NOW)
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    const overrides = new Map([['alice', { version: 1, value: read.override }]])
    const policy = createPolicy(
      FILE,
      1,
      asOverrides({ overrides, organisationOverrides: new Map(), grants: new Map() }),
    )
    const [first] = policy.trace('read', payerOf('alice')).personal
    expect(first).toMatchObject({
      limit: 1100,
      over: 100,
      steps: ['override 500 and 50 over', 'override x 2 (a launch)'],
    })
  })

  it.each([{ read: { '1h': 0 } }, { bypassGlobal: true }, { shadow: true }])('an override may be %j alone', (body) => {
    expect(told({ ...body, reason: 'enough' })).toEqual([])
  })

  describe('the day with which months begin', () => {
    const calendar = { unit: 'month', zone: 'UTC' } as const
    const file = { ...FILE, windows: [...FILE.windows, { name: 'month', seconds: LONGEST_SECONDS.month, calendar }] }
    const both = [overrideFrom, organisationOverrideFrom] as const
    const problems = (from: (typeof both)[number], body: object, of: FileSettings = file) => {
      const reading = from({ ...body, reason: 'paid' }, of, NOW)
      return 'problems' in reading ? reading.problems : []
    }

    it('an override of a user or an organisation has a day from 1 to 31, which may be all that it sets', () => {
      expect(overrideFrom({ periodDay: 31, reason: 'paid' }, file, NOW)).toEqual({
        override: { limits: {}, periodDay: 31, bypassGlobal: false, shadow: false, reason: 'paid', expiresAt: null },
      })
      expect(organisationOverrideFrom({ periodDay: 1, reason: 'paid' }, file, NOW)).toEqual({
        override: { limits: {}, periodDay: 1, reason: 'paid', expiresAt: null },
      })
      for (const from of both) {
        expect(problems(from, { periodDay: null, factor: 2 })).toEqual([])
        expect(problems(from, {})[0]?.msg).toContain('periodDay')
      }
    })

    it.each([0, 32, 1.5, '17', true])(
      'an override may not have %j as the day, and is told what it may have',
      (periodDay) => {
        const msg = 'must be a day from 1 to 31, of which 29 to 31 mean the last day of a month that is shorter'
        for (const from of both) expect(problems(from, { periodDay })).toEqual([{ path: 'periodDay', msg }])
      },
    )

    it('an override may have no day where the file has no months, nor within an organisation, where it sets limits alone', () => {
      for (const from of both) {
        const [{ path, msg } = { path: '', msg: '' }] = problems(from, { periodDay: 17 }, FILE)
        expect([path, msg.slice(0, 60)]).toEqual(
          ['periodDay', 'is for a window of months, and the file has none: add one to '].map((text) =>
            text.slice(0, 60),
          ),
        )
      }
      expect(problems(overrideFrom, { periodDay: 17, within: 'acme' })).toMatchObject([{ path: 'within' }])
    })

    it('what is set over a day with an end hides the day until then, unless it only multiplies', () => {
      const value = { limits: {}, periodDay: 17, bypassGlobal: false, shadow: false, reason: 'paid', expiresAt: null }
      const over = (top: object) =>
        OVERRIDES.over([[[], value]], [[[], { ...value, periodDay: undefined, ...top }]])[0]?.[1]
      expect(over({ factor: 2 })).toMatchObject({ periodDay: 17, factor: 2 })
      expect(over({ shadow: true })).toMatchObject({ periodDay: undefined, shadow: true })
      expect(over({ periodDay: 5 })).toMatchObject({ periodDay: 5 })
      expect(over({ periodDay: 5, factor: 2 })).toMatchObject({ periodDay: 5, factor: 2 })
    })
  })

  it('an override has a plan of the file, which may be all that it sets', () => {
    const file = { ...FILE, plans: new Map([['pro', { personal: table({}), organisation: table({}) }]]) }
    expect(overrideFrom({ plan: 'pro', reason: 'paid' }, file, NOW)).toEqual({
      override: { limits: {}, plan: 'pro', bypassGlobal: false, shadow: false, reason: 'paid', expiresAt: null },
    })
    const wrong = (body: object) => {
      const reading = overrideFrom({ ...body, reason: 'paid' }, file, NOW)
      return 'problems' in reading ? reading.problems : []
    }
    expect(wrong({ plan: 'por' })).toEqual([{ path: 'plan', msg: 'must be one of pro; did you mean "pro"?' }])
    expect(wrong({ plan: null })).toEqual([
      { path: '', msg: expect.stringContaining('or set plan, factor, bypassGlobal or') },
    ])
    expect(told({ plan: 'pro', reason: 'paid' })).toEqual([
      'plan: unknown field "plan"; there are read, write, within, bypassGlobal, shadow, factor, periodDay, reason, expiresAt',
    ])
  })

  it.each([{}, { read: {} }, { read: { '1h': null }, bypassGlobal: false, shadow: false }])(
    'an override that sets nothing (%j) gets an error that says how to take one away',
    (body) => {
      expect(told({ ...body, reason: 'none' })).toEqual([
        ': sets nothing: give a limit under read or write, or set factor, bypassGlobal or shadow; to take an override away, DELETE it',
      ])
    },
  )

  it('an override with mistakes gets an error for each, with its place and the cure', () => {
    const body = {
      red: { '1h': 1 },
      read: { '1h': '5', '2h': 5 },
      write: 7,
      bypassglobal: true,
      shadow: 'yes',
      expiresAt: 'tomorrow',
    }
    expect(told(body)).toEqual([
      'red: unknown field "red"; did you mean "read"?',
      'read.1h: must be a whole number of tokens from 0 to 1000000000000, { "limit": 1000, "over": 200 }, or unlimited',
      'read.2h: unknown window "2h"; there are 1h, 1d',
      'write: must be an object with 1h, 1d',
      'bypassglobal: unknown field "bypassglobal"; did you mean "bypassGlobal"?',
      'shadow: must be true or false',
      'expiresAt: must be a time with its offset, for example 2030-01-31T00:00:00Z; leave it out for an override without an end',
      'reason: must be a sentence of 1 to 500 characters on one line: why it is changed',
    ])
  })

  it.each([null, undefined, 5, 'alice', []])(
    'an override that is no object (%j) gets an error that says so',
    (body) => {
      expect(told(body)).toEqual([
        ': must be an object with read, write, within, bypassGlobal, shadow, factor, periodDay, reason, expiresAt',
      ])
    },
  )

  it.each(['2026-08-06T15:00:00Z', '2026-08-06T14:59:59.999Z', '1999-12-31T00:00:00+00:00'])(
    'an override that would be over at once (%s) gets an error with the time of now',
    (expiresAt) => {
      expect(told({ shadow: true, reason: 'late', expiresAt })).toEqual([
        'expiresAt: must be in the future: it is 2026-08-06T15:00:00.000Z now',
      ])
    },
  )

  it.each(['2026-08-06T15:00:00.001Z', '2026-08-06T15:01:00Z', '2026-08-06T12:00:00-05:00', '9999-12-31T23:59:59Z'])(
    'an override may end at %s',
    (expiresAt) => {
      expect(told({ shadow: true, reason: 'soon over', expiresAt })).toEqual([])
    },
  )

  it.each([
    '2030-01-31',
    '2030-01-31T00:00:00',
    '2030-02-30T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-01-31T24:00:01Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31T00:00Z',
    '9999-12-31T23:59:59-00:01',
    '2030-01-31 00:00:00Z',
    'Thu, 31 Jan 2030 00:00:00 GMT',
    '',
    1_900_000_000_000,
    true,
  ])('an override may not end at %j, which is no time with its offset', (expiresAt) => {
    expect(told({ shadow: true, reason: 'odd', expiresAt })).toHaveLength(1)
  })

  it('an override is read without an exception, whatever it is', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (body) => {
        expect(told(body).length).toBeGreaterThan(0)
      }),
    )
  }, 60_000)
})

it('an override is taken by the policy as it is stored', () => {
  const value = {
    limits: { read: { '1h': 500 } },
    bypassGlobal: true,
    shadow: true,
    reason: 'load test',
    expiresAt: null,
  }
  const overrides = asOverrides({ ...UNCHANGED, overrides: new Map([['alice', { version: 3, value }]]) })
  expect(overrides.get('alice')).toMatchObject({ limits: table({ read: { '1h': 500 } }), bypassGlobal: true })
  const policy = createPolicy(FILE, 1, overrides)
  expect(policy.limitsFor('read', payerOf('alice'))).toMatchObject({
    personal: [{ limit: 500 }, { limit: 1200 }],
    organisation: null,
    global: null,
  })
  expect(policy.isShadowed('alice')).toBe(true)
  expect(policy.trace('read', payerOf('alice')).personal[0]?.steps).toEqual(['override 500 (load test)'])
})
