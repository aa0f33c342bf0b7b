import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/replay/entry.ts'
import { readOwnLine } from '../../src/replay/own-log.ts'

const LINE = {
  level: 30,
  time: 1_795_000_000_500,
  requestId: 'r',
  user: 'alice',
  method: 'POST',
  route: 'POST /v1/report',
  category: 'write',
  cost: 20,
  charged: 7,
  plan: 'team',
  organisation: 'acme',
  outcome: 'forwarded',
  httpStatus: 200,
  clientStatus: 200,
  durationMs: 250.25,
  msg: 'request',
}
const read = (changes: object) => readOwnLine(JSON.stringify({ ...LINE, ...changes }))
const fateOf = (changes: object): Entry['fate'] | string => {
  const reading = read(changes)
  return reading.kind === 'request' ? reading.entry.fate : reading.kind === 'other' ? reading.why : reading.problem
}

describe('a line of a gateway', () => {
  it('a line of a gateway says when the request came, whose it was and what it cost', () => {
    expect(read({})).toEqual({
      kind: 'request',
      entry: {
        at: 1_795_000_000_249.75,
        endedAt: 1_795_000_000_500,
        method: 'POST',
        target: { kind: 'rule', text: 'POST /v1/report' },
        user: 'alice',
        address: null,
        plan: 'team',
        organisation: 'acme',
        cost: 20,
        charged: 7,
        fate: 'passed',
      },
    })
  })

  it.each<[string, object, string]>([
    ['refused by the quota', { outcome: 'refused', httpStatus: null, error: 'quota_exceeded' }, 'refused'],
    ['let through in shadow', { shadowed: true, scope: 'Personal' }, 'shadowed'],
    ['let through in shadow while the store was out', { shadowed: true }, 'undecided'],
    ['that repeats a charged one', { replayed: true }, 'repeated'],
    ['of an exempt address', { exempt: 'address' }, 'exempt'],
    ['of an exempt user', { exempt: 'user' }, 'exempt_user'],
    ['that reached nobody', { outcome: 'failed', error: 'upstream_unreachable', charged: 0 }, 'unreached'],
    ['that may have reached somebody', { outcome: 'failed', error: 'upstream_unreachable', charged: 20 }, 'passed'],
    ['that an open WebSocket costs', { outcome: 'charged', msg: 'tunnel charge' }, 'passed'],
    ['that closed a WebSocket', { outcome: 'refused', msg: 'tunnel charge' }, 'refused'],
    ['that failed behind the upstream', { outcome: 'failed', httpStatus: 0, error: 'upstream_timeout' }, 'passed'],
    ['that its client left behind', { outcome: 'aborted', httpStatus: null }, 'passed'],
    [
      'that its client left before it reached anybody',
      { outcome: 'aborted', httpStatus: null, charged: 0 },
      'unreached',
    ],
    ['that its client left behind a free response', { outcome: 'aborted', httpStatus: 404, charged: 0 }, 'passed'],
    [
      'of which one meter alone is free',
      { outcome: 'failed', error: 'upstream_unreachable', others: [{ category: 'tokens', cost: 9, charged: 0 }] },
      'passed',
    ],
    [
      'of a bad upload that was charged',
      { outcome: 'denied', httpStatus: null, decidedAt: 1_795_000_000_300 },
      'passed',
    ],
    [
      'that was charged and denied, and given back',
      { outcome: 'denied', httpStatus: null, decidedAt: 1_795_000_000_300, charged: 0 },
      'refused before the quota',
    ],
    ['that a service asked about', { outcome: 'answered', httpStatus: null }, 'passed'],
    [
      'that its client left before the price',
      { outcome: 'aborted', httpStatus: null, cost: 0 },
      'refused before the quota',
    ],
    ['without a good credential', { outcome: 'denied', user: null, httpStatus: null }, 'refused before the quota'],
    ['for the gateway itself', { outcome: 'answered', httpStatus: null, category: null }, 'refused before the quota'],
    ['that another proxy asked about', { outcome: 'answered', httpStatus: null }, 'passed'],
    ['that a service asked about again', { outcome: 'answered', replayed: true }, 'asked_again'],
    ['that no rule had', { route: null }, 'no rule'],
  ])('%s is told apart', (_what, changes, fate) => expect(fateOf(changes)).toBe(fate))

  it.each([{ outcome: 'refused' }, { shadowed: true, scope: 'Global' }, { exempt: 'user' }, { replayed: true }])(
    'a line of a gateway that nothing was charged for says nothing of its cost by the response: %o',
    (changes) => expect(read({ charged: 0, ...changes })).toMatchObject({ entry: { cost: 20, charged: null } }),
  )

  it('a line of a gateway names the plan of the credential, if that is another one than the plan in force, or none', () => {
    expect(read({ namedPlan: 'gold' })).toMatchObject({ entry: { plan: 'gold' } })
    expect(read({ namedPlan: null })).toMatchObject({ entry: { plan: null } })
  })

  it('a line of a gateway names the days with which months begin, and one that is no day is none', () => {
    const daysOf = (changes: object) => (read(changes) as { entry: { days?: unknown } }).entry.days
    expect(daysOf({})).toBeUndefined()
    expect(daysOf({ periodDay: 17 })).toEqual({ periodDay: 17 })
    expect(daysOf({ periodDay: 17, organisationDay: null })).toEqual({ periodDay: 17, organisationDay: null })
    expect(daysOf({ periodDay: 32, organisationDay: 3 })).toEqual({ organisationDay: 3 })
    for (const organisationDay of ['3', 1.5]) expect(daysOf({ organisationDay })).toBeUndefined()
  })

  it('a line of a gateway of a WebSocket says which one it is, and how long that was open', () => {
    expect(read({ clientStatus: 101 })).toMatchObject({ entry: { tunnel: { id: 'r', openMs: 0, everyMs: 0 } } })
    const charge = { msg: 'tunnel charge', openMs: 3000, everyMs: 1000 }
    expect(read(charge)).toMatchObject({ entry: { tunnel: { id: 'r', openMs: 3000, everyMs: 1000 } } })
  })

  it('a line of a gateway with a decision at no moment came when it ended less its duration', () => {
    expect(read({ decidedAt: 1e300 })).toMatchObject({ entry: { at: 1_795_000_000_249.75 } })
  })

  it('a line of a gateway of another kind is no request', () => {
    expect(readOwnLine('{"level":30,"time":1,"msg":"listening"}')).toEqual({ kind: 'other', why: 'not a request' })
  })

  it.each([
    ['{"level":30,"time"', 'it is no JSON object'],
    ['[1]', 'it is no JSON object'],
    ['{"msg":"request"}', '"time" is no moment in milliseconds'],
    ['{"msg":"request","time":"now"}', '"time" is no moment in milliseconds'],
    ['{"msg":"request","time":1e300}', '"time" is no moment in milliseconds'],
    ['{"msg":"request","time":1,"durationMs":-1}', '"durationMs" is no duration'],
    ['{"msg":"request","time":1,"durationMs":1e300}', '"durationMs" is no duration'],
    ['{"msg":"request","time":1,"outcome":"forwarded"}', '"method" is no text'],
  ])('a line of a gateway that is not whole is named: %s', (line, problem) => {
    expect(readOwnLine(line)).toEqual({ kind: 'unreadable', problem })
  })
})
