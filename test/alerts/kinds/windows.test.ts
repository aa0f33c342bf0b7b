import { describe, expect, it } from 'vitest'
import { leastOf, type Noticed } from '../../../src/alerts/alert.ts'
import { createWatch, type WindowAlert } from '../../../src/alerts/kinds/windows.ts'
import type { Charge, Limits } from '../../../src/quota/charge.ts'
import type { Limit, Usage } from '../../../src/quota/window.ts'

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: 'day', seconds: 32 * 3600, calendar: { unit: 'day', zone: 'Asia/Shanghai' } } as const
const START = Date.UTC(2026, 7, 6, 14, 30)

const windows = (hour: number, day: number, kept?: number): Limit[] => [
  { window: HOUR, limit: hour, ...(kept !== undefined && { kept }) },
  { window: DAY, limit: day },
]
const LIMITS: Limits = { personal: windows(120, 1000), organisation: windows(500, 5000), global: windows(1000, 9000) }

const alert = (scope: WindowAlert['scope'], window = '1h', at = [0.8, 1]): WindowAlert => ({
  name: `${scope}-${window}`,
  scope,
  category: 'read',
  window,
  at,
})

/** Notes one charge after the other, and keeps what is noticed. */
function watching(alerts: readonly WindowAlert[], isFull = () => false) {
  const noticed: Noticed[] = []
  const watch = createWatch({
    alerts,
    raise: (one, onFull) => {
      if (isFull()) onFull()
      else noticed.push(one)
    },
  })
  /** @param used of the hour and the day in each scope */
  function note(used: number, more: Partial<Charge> = {}, accepted = true, at = START + 60_000, startedAt = START) {
    const charge: Charge = { user: 'alice', organisation: 'acme', category: 'read', cost: 4, limits: LIMITS, ...more }
    const usages: Usage[] = [
      { startedAt, used },
      { startedAt, used },
    ]
    const decision = { accepted, at, personal: usages, organisation: usages, global: usages }
    watch.note({
      kind: accepted ? 'charged' : 'refused',
      charge,
      decision,
      isVerified: charge.user !== 'address:192.0.2.1',
    })
    return noticed.map(({ happening }) => `${happening.alert} ${happening.threshold}`)
  }
  return { note, noticed, watch }
}

describe('a window', () => {
  it('a window is noticed at each threshold once, with whose it is, what is used, and its run', () => {
    const { note, noticed } = watching([alert('personal')])
    expect(note(95)).toEqual([])
    expect(note(96)).toEqual(['personal-1h 0.8'])
    expect(note(100)).toHaveLength(1)
    expect(note(120)).toEqual(['personal-1h 0.8', 'personal-1h 1'])
    expect(note(118)).toHaveLength(2)
    expect(noticed[0]).toEqual({
      claim: { place: 'personal-1h:personal:read:3600:alice', run: START, threshold: 0.8, endsAt: START + 3_600_000 },
      happening: {
        alert: 'personal-1h',
        scope: 'personal',
        subject: 'alice',
        category: 'read',
        window: '1h',
        threshold: 0.8,
        used: 96,
        limit: 120,
        at: START + 60_000,
        startedAt: START,
        endsAt: START + 3_600_000,
      },
    })
  })

  it('a window that reaches two thresholds at once is noticed at the higher one', () => {
    expect(watching([alert('personal')]).note(120)).toEqual(['personal-1h 1'])
  })

  it('a window is noticed anew in its next run', () => {
    const { note } = watching([alert('personal')])
    note(96)
    expect(note(96, {}, true, START + 3_700_000, START + 3_660_000)).toHaveLength(2)
  })

  it('a window that refuses a request is used up, also if some tokens are left; one that does not refuse it is not', () => {
    const { note, noticed } = watching([alert('personal', '1h', [1]), alert('global', '1h', [0.9, 1])])
    expect(note(118, {}, false)).toEqual(['personal-1h 1'])
    expect(noticed[0]?.happening).toMatchObject({ used: 118, limit: 120 })
  })

  it('a window with a soft limit refuses no request that fits beyond the limit: another window did', () => {
    const { note } = watching([alert('personal', '1h', [1])])
    const soft: Limits = { ...LIMITS, personal: [{ window: HOUR, limit: 150, over: 30 }] }
    expect(note(118, { limits: soft, cost: 32 }, false)).toEqual([])
    expect(note(118, { limits: soft, cost: 33 }, false)).toEqual(['personal-1h 1'])
  })

  it('a window is of its category, of each user, of each organisation, or of all together', () => {
    const { note, noticed } = watching([alert('personal'), alert('organisation'), alert('global')])
    note(900, { category: 'write' })
    note(900, { user: 'bob' })
    note(900, { user: 'carol' })
    note(900, { user: 'dave', organisation: 'umbrella' })
    const subjects = noticed.map(({ happening }) => ('subject' in happening ? happening.subject : '-'))
    expect(subjects).toEqual(['bob', 'acme', null, 'carol', 'dave', 'umbrella'])
  })

  it('a window of a caller who is only told apart from others is nobody’s business; the windows it shares are', () => {
    const { note } = watching([alert('personal'), alert('global')])
    expect(note(1000, { user: 'address:192.0.2.1' })).toEqual(['global-1h 1'])
  })

  it('a window by the calendar is shown from the beginning of its period to its end', () => {
    const { note, noticed } = watching([alert('personal', 'day', [0.5])])
    note(500)
    expect(noticed[0]?.happening).toMatchObject({
      startedAt: Date.UTC(2026, 7, 5, 16),
      endsAt: Date.UTC(2026, 7, 6, 16),
    })
    expect(noticed[0]?.claim).toMatchObject({ run: START, endsAt: Date.UTC(2026, 7, 6, 16) })
  })

  it('a window of which a part is kept for known users has its whole limit', () => {
    const limits = { ...LIMITS, global: windows(800, 9000, 200) }
    const { note, noticed } = watching([alert('global')])
    expect(note(799, { limits }, false)).toEqual([])
    note(800, { limits }, false)
    expect(noticed[0]?.happening).toMatchObject({ threshold: 0.8, limit: 1000 })
  })

  it('a window that somebody does not have is not noticed, nor one whose limit is 0 and that never ran', () => {
    const { note } = watching([alert('organisation'), alert('personal')])
    const limits = { personal: windows(0, 10), organisation: null, global: null }
    expect(note(0, { limits }, false, START, 0)).toEqual([])
  })

  it('a window that was decided on local counters is not noticed', () => {
    const { watch, noticed } = watching([alert('personal')])
    const usages = LIMITS.personal.map(() => ({ startedAt: START, used: 120 }))
    const charge = { user: 'alice', organisation: null, category: 'read', cost: 1, limits: LIMITS }
    const decision = { accepted: true, at: START, personal: usages, organisation: null, global: null, limits: LIMITS }
    watch.note({ kind: 'charged', charge, decision, isVerified: true })
    expect(noticed).toEqual([])
  })

  it('for which there is no room is noticed again, half a minute later', () => {
    let isFull = true
    const { note } = watching([alert('personal')], () => isFull)
    expect(note(96)).toEqual([])
    isFull = false
    expect(note(97)).toEqual([])
    expect(note(97, { user: 'bob' })).toEqual([])
    expect(note(98, {}, true, START + 95_000)).toEqual(['personal-1h 0.8'])
  })
})

it('a threshold is the least whole number of its share', () => {
  expect([leastOf(0.8, 120), leastOf(0.07, 100), leastOf(0.333, 10), leastOf(1, 10 ** 12)]).toEqual([
    96,
    7,
    4,
    10 ** 12,
  ])
  for (let percent = 1; percent <= 100; percent++) expect(leastOf(percent / 100, 1_000_000_000)).toBe(percent * 1e7)
})
