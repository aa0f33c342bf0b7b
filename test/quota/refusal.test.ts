import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Charge, Decision } from '../../src/quota/charge.ts'
import { refusalBody, secondsUntil, violations } from '../../src/quota/refusal.ts'
import type { Limit, Usage } from '../../src/quota/window.ts'

const HOUR = { name: '1h', seconds: 3600 }
const FIVE = { name: '5h', seconds: 18_000 }
const DAY = { name: '1d', seconds: 86_400 }
const AT = Date.UTC(2026, 7, 6, 14, 36, 26)
const STARTED = Date.UTC(2026, 7, 6, 14, 6, 26)
const IDLE: Usage = { startedAt: 0, used: 0 }

/** Each scope as rows of window, limit and what is used of it. */
type Row = readonly [Limit['window'], number, Usage]
function refused(
  cost: number,
  personal: readonly Row[],
  global: readonly Row[] | null = null,
  category = 'read',
  organisation: readonly Row[] | null = null,
): [Charge, Decision] {
  const limits = (rows: readonly Row[]): Limit[] => rows.map(([window, limit]) => ({ window, limit }))
  const usages = (rows: readonly Row[]): Usage[] => rows.map(([, , usage]) => usage)
  return [
    {
      user: 'alice',
      organisation: organisation && 'acme',
      category,
      cost,
      limits: {
        personal: limits(personal),
        organisation: organisation && limits(organisation),
        global: global && limits(global),
      },
    },
    {
      accepted: false,
      at: AT,
      personal: usages(personal),
      organisation: organisation && usages(organisation),
      global: global && usages(global),
    },
  ]
}
const reported = (of: [Charge, Decision]): string => {
  const { scope, window } = refusalBody(...of, 'UTC').quota
  return `${scope} ${window}`
}
const message = (of: [Charge, Decision], timeZone: string): string => refusalBody(...of, timeZone).msg

const full = (window: Limit['window'], startedAt = STARTED): Row => [window, 10, { startedAt, used: 10 }]
const room: Row = [HOUR, 10, IDLE]

it('a refusal by an organisation says that the quota of the organisation is used up', () => {
  const { msg, quota } = refusalBody(...refused(4, [room], [room], 'read', [full(HOUR)]), 'Asia/Shanghai')
  expect(msg).toBe(
    'Organisation 1-hour read quota is used up. Requests may continue after 2026-08-06 23:06:26 Asia/Shanghai (UTC+8).',
  )
  expect(quota).toMatchObject({ scope: 'Organisation', window: '1h', limit: 10, used: 10, requested: 4 })
})

it('a refusal by an organisation comes behind the personal scope and before the global one if they reset at the same moment', () => {
  expect(reported(refused(4, [full(HOUR)], [full(HOUR)], 'read', [full(HOUR)]))).toBe('Personal 1h')
  expect(reported(refused(4, [room], [full(HOUR)], 'read', [full(HOUR)]))).toBe('Organisation 1h')
})

it('a refusal by an organisation is named before the others if it resets later', () => {
  expect(reported(refused(4, [full(HOUR)], [full(HOUR)], 'read', [full(DAY)]))).toBe('Organisation 1d')
  expect(reported(refused(4, [full(HOUR)], [full(DAY)], 'read', [full(HOUR)]))).toBe('Global 1d')
})

it('a refusal by an organisation says that waiting does not help if its limit is below the cost', () => {
  expect(message(refused(11, [[HOUR, 20, IDLE]], null, 'read', [room]), 'UTC')).toBe(
    'This request costs 11 read tokens, more than the Organisation 1-hour limit of 10 ever allows; waiting does not help.',
  )
})

it('the body of a 429 is the example of the contract, to the letter', () => {
  const of = refused(4, [
    [HOUR, 120, { startedAt: STARTED, used: 118 }],
    [FIVE, 400, { startedAt: STARTED, used: 118 }],
  ])
  expect(JSON.stringify(refusalBody(...of, 'Asia/Shanghai'))).toBe(
    JSON.stringify({
      error: 'quota_exceeded',
      msg: 'Personal 1-hour read quota is used up. Requests may continue after 2026-08-06 23:06:26 Asia/Shanghai (UTC+8).',
      retryAfterSeconds: 1800,
      quota: {
        scope: 'Personal',
        category: 'read',
        window: '1h',
        limit: 120,
        used: 118,
        requested: 4,
        resetAt: '2026-08-06T15:06:26.000Z',
        retryAtBeijing: '2026-08-06 23:06:26',
        timeZone: 'Asia/Shanghai',
      },
    }),
  )
})

const MONTH = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'Asia/Shanghai' } } as const

it('the body of a 429 says when the month ends in its zone, to the second', () => {
  const body = refusalBody(...refused(1, [[MONTH, 5, { startedAt: STARTED, used: 5 }]]), 'Asia/Shanghai')
  expect(body.msg).toBe(
    'Personal monthly read quota is used up. Requests may continue after 2026-09-01 00:00:00 Asia/Shanghai (UTC+8).',
  )
  expect(body.quota.resetAt).toBe('2026-08-31T16:00:00.000Z')
  expect(body.retryAfterSeconds).toBe((Date.UTC(2026, 7, 31, 16) - AT) / 1000)
})

it('the body of a 429 names the end of the month, and its limit, for what costs more than that ever allows', () => {
  const body = refusalBody(...refused(6, [[MONTH, 5, IDLE]]), 'UTC')
  expect(body.quota.resetAt).toBe('2026-08-31T16:00:00.000Z')
  expect(body.msg).toContain('more than the Personal monthly limit of 5 ever allows')
})

it.each(['day', 'week', 'month'] as const)('the body of a 429 has a word for a calendar window: %s', (unit) => {
  const window = { name: 'w', seconds: 2_707_201, calendar: { unit, zone: 'UTC' } }
  const word = { day: 'daily', week: 'weekly', month: 'monthly' }[unit]
  expect(message(refused(1, [[window, 5, { startedAt: AT, used: 5 }]]), 'UTC')).toContain(`Personal ${word} read`)
})

it('the body of a 429 names the global scope, the category and the window in its sentence', () => {
  const of = refused(4, [[FIVE, 400, IDLE]], [[FIVE, 6, { startedAt: STARTED, used: 3 }]], 'write')
  expect(message(of, 'UTC')).toMatch(/^Global 5-hour write quota is used up\./)
})

it.each([
  [1, '1-second'],
  [90, '90-second'],
  [60, '1-minute'],
  [5400, '90-minute'],
  [18_000, '5-hour'],
  [86_400, '1-day'],
  [604_800, '7-day'],
])('the body of a 429 speaks of a window of %d seconds as %s', (seconds, spoken) => {
  expect(message(refused(1, [[{ name: 'w', seconds }, 5, { startedAt: AT, used: 5 }]]), 'UTC')).toContain(
    `Personal ${spoken} read`,
  )
  expect(message(refused(9, [[{ name: 'w', seconds }, 5, IDLE]]), 'UTC')).toContain(`Personal ${spoken} limit`)
})

it('the body of a 429 says of a cost that a limit never allows that waiting does not help, and leaves every field as it is', () => {
  expect(refusalBody(...refused(130, [[HOUR, 120, IDLE]]), 'Asia/Shanghai')).toEqual({
    error: 'quota_exceeded',
    msg: 'This request costs 130 read tokens, more than the Personal 1-hour limit of 120 ever allows; waiting does not help.',
    retryAfterSeconds: 3600,
    quota: {
      scope: 'Personal',
      category: 'read',
      window: '1h',
      limit: 120,
      used: 0,
      requested: 130,
      resetAt: '2026-08-06T15:36:26.000Z',
      retryAtBeijing: '2026-08-06 23:36:26',
      timeZone: 'Asia/Shanghai',
    },
  })
  expect(message(refused(1, [[HOUR, 0, IDLE]]), 'UTC')).toBe(
    'This request costs 1 read token, more than the Personal 1-hour limit of 0 ever allows; waiting does not help.',
  )
})

it('the body of a 429 says so also if another window is the one that resets last', () => {
  const personal: Row[] = [
    [HOUR, 120, IDLE],
    [DAY, 1200, { startedAt: STARTED, used: 1199 }],
  ]
  const body = refusalBody(...refused(130, personal, [[DAY, 100, IDLE]]), 'UTC')
  expect(body.msg).toContain('more than the Global 1-day limit of 100 ever allows')
  expect(body.quota).toMatchObject({ scope: 'Global', window: '1d' })
  const other = refusalBody(...refused(130, personal), 'UTC')
  expect(other.msg).toContain('more than the Personal 1-hour limit of 120 ever allows')
  expect(other.quota).toMatchObject({ scope: 'Personal', window: '1d', used: 1199 })
})

it('the body of a 429 promises a time if a share of the limits refuses, which holds only while the store is out', () => {
  const [charge, decision] = refused(13, [[HOUR, 120, IDLE]])
  const limits = { personal: [{ window: HOUR, limit: 12 }], organisation: null, global: null }
  expect(refusalBody(charge, { ...decision, limits }, 'UTC').msg).toContain('is used up. Requests may continue after')
})

it('the body of a 429 cannot be made of an accepted charge', () => {
  const [charge, decision] = refused(1, [[HOUR, 5, IDLE]])
  expect(() => refusalBody(charge, { ...decision, accepted: true }, 'UTC')).toThrow('accepted')
})

const early = { startedAt: STARTED, used: 5 }
const late = { startedAt: STARTED + 60_000, used: 5 }
/** It ends as early as an hour does. */
const sameEnd = { startedAt: STARTED + (HOUR.seconds - FIVE.seconds) * 1000, used: 5 }
const hour: Row = [HOUR, 5, early]
const lateHour: Row = [HOUR, 5, late]
const five: Row = [FIVE, 5, sameEnd]
const day: Row = [DAY, 5, early]

it('the reported window is the one that resets last, so that waiting once is enough', () => {
  expect(reported(refused(1, [hour, day]))).toBe('Personal 1d')
  expect(reported(refused(1, [hour], [lateHour]))).toBe('Global 1h')
})

it('the reported window is never one that has room, however late it resets', () => {
  expect(reported(refused(1, [hour, [DAY, 6, early]], [[DAY, 100, late]]))).toBe('Personal 1h')
})

it('the reported window is the personal one on a tie', () => {
  expect(reported(refused(1, [hour], [hour]))).toBe('Personal 1h')
})

it('the reported window is the longer one on a tie of one scope', () => {
  expect(reported(refused(1, [hour, five]))).toBe('Personal 5h')
  expect(reported(refused(1, [[HOUR, 9, early]], [hour, five]))).toBe('Global 5h')
})

it('the reported window is the shorter personal one before the longer global one on a tie', () => {
  expect(reported(refused(1, [hour], [five]))).toBe('Personal 1h')
})

it('the reported window resets one length from now if it has not started and still refuses', () => {
  const body = refusalBody(...refused(6, [[HOUR, 5, IDLE]]), 'UTC')
  expect(body).toMatchObject({
    retryAfterSeconds: 3600,
    quota: { used: 0, limit: 5, requested: 6, resetAt: '2026-08-06T15:36:26.000Z' },
  })
})

it('the reported window counts as not started once it has ended', () => {
  const ended = { startedAt: AT - 3_600_000, used: 5 }
  expect(refusalBody(...refused(6, [[HOUR, 5, ended]]), 'UTC').quota).toMatchObject({
    used: 0,
    resetAt: '2026-08-06T15:36:26.000Z',
  })
})

it('the reported window is followed by every other one that refuses, and by no window that has room', () => {
  const of = refused(1, [hour, [FIVE, 9, early], day], [lateHour])
  expect(violations(...of).map(({ scope, limit }) => `${scope} ${limit.window.name}`)).toEqual([
    'personal 1d',
    'global 1h',
    'personal 1h',
  ])
  expect(violations(of[0], { ...of[1], accepted: true })).toEqual([])
})

it.each([
  [1800_000, 1800],
  [1799_001, 1800],
  [1800_001, 1801],
  [999, 1],
  [1, 1],
  [0, 1],
  [-5000, 1],
])('retryAfterSeconds of %d milliseconds is %d', (ms, seconds) => {
  expect(secondsUntil(AT + ms, AT)).toBe(seconds)
})

it('retryAfterSeconds is long enough to have passed the reset, and less than a second longer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 ** 9 }), (ms) => {
      const waited = secondsUntil(AT + ms, AT) * 1000
      expect(waited).toBeGreaterThanOrEqual(ms)
      expect(waited).toBeLessThan(ms + 1000)
    }),
  )
}, 60_000)

const ending = (resetAt: number): [Charge, Decision] => {
  const startedAt = resetAt - 3_600_000
  const [charge, decision] = refused(1, [[HOUR, 5, { startedAt, used: 5 }]])
  return [charge, { ...decision, at: startedAt + 1000 }]
}
const summer = ending(Date.UTC(2026, 7, 6, 15, 6, 26))

it.each([
  ['UTC', '2026-08-06 15:06:26 UTC (UTC)'],
  ['Asia/Shanghai', '2026-08-06 23:06:26 Asia/Shanghai (UTC+8)'],
  ['Asia/Kolkata', '2026-08-06 20:36:26 Asia/Kolkata (UTC+5:30)'],
  ['Asia/Kathmandu', '2026-08-06 20:51:26 Asia/Kathmandu (UTC+5:45)'],
  ['America/St_Johns', '2026-08-06 12:36:26 America/St_Johns (UTC-2:30)'],
  ['Pacific/Auckland', '2026-08-07 03:06:26 Pacific/Auckland (UTC+12)'],
  ['America/New_York', '2026-08-06 11:06:26 America/New_York (UTC-4)'],
])('the time in the sentence is the local one of %s, with its distance from UTC', (timeZone, text) => {
  expect(message(summer, timeZone)).toContain(`continue after ${text}.`)
})

it('the time in the sentence follows daylight saving: the hour that comes twice is told apart by its offset', () => {
  const before = message(ending(Date.UTC(2026, 9, 25, 0, 30)), 'Europe/Berlin')
  const after = message(ending(Date.UTC(2026, 9, 25, 1, 30)), 'Europe/Berlin')
  expect(before).toContain('2026-10-25 02:30:00 Europe/Berlin (UTC+2)')
  expect(after).toContain('2026-10-25 02:30:00 Europe/Berlin (UTC+1)')
})

it('the time in the sentence writes midnight as 00 and not as 24', () => {
  expect(message(ending(Date.UTC(2026, 7, 6, 16)), 'Asia/Shanghai')).toContain('2026-08-07 00:00:00')
})

it('the time in the sentence is rounded up to the second, so that whoever waits for it has waited long enough', () => {
  const body = refusalBody(...ending(Date.UTC(2026, 11, 31, 15, 59, 59, 1)), 'UTC')
  expect(body.quota).toMatchObject({ resetAt: '2026-12-31T15:59:59.001Z', retryAtBeijing: '2027-01-01 00:00:00' })
  expect(body.msg).toContain('2026-12-31 16:00:00 UTC')
})

it('the time in the sentence leaves retryAtBeijing in Beijing, whatever the zone of the sentence', () => {
  const { quota } = refusalBody(...summer, 'America/New_York')
  expect(quota).toMatchObject({ retryAtBeijing: '2026-08-06 23:06:26', timeZone: 'Asia/Shanghai' })
})

it('says the same as a formatter of the language in every zone, round each change of its clocks', () => {
  const year = Date.UTC(2026, 0, 1)
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    let before = ''
    for (let hour = 0; hour < 365 * 24; hour += 24) {
      const moment = year + hour * 3_600_000
      const now = offset(moment, timeZone)
      // Where the day holds a change, every quarter of an hour in them, and the seconds at its edges.
      if (before !== '' && now !== before) {
        for (let ms = moment - 24 * 3_600_000; ms <= moment; ms += 900_000)
          for (const at of [ms - 1000, ms, ms + 1000]) expect(spokenTime(at, timeZone)).toBe(clock.format(at))
      }
      before = now
    }
    expect(spokenTime(year, timeZone)).toBe(clock.format(year))
  }
}, 60_000)

function offset(moment: number, timeZone: string): string {
  return /\((.*)\)/.exec(sentenceAt(moment, timeZone))?.[1] ?? ''
}

function spokenTime(moment: number, timeZone: string): string {
  return /after (\S+ \S+) /.exec(sentenceAt(moment, timeZone))?.[1] ?? ''
}

function sentenceAt(moment: number, timeZone: string): string {
  const [charge, decision] = refused(1, [[HOUR, 1, { startedAt: moment - 3_600_000, used: 1 }]])
  return message([charge, { ...decision, at: moment - 1000 }], timeZone)
}
