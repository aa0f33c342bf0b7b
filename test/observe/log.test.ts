import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLog, type LogOptions } from '../../src/observe/log.ts'
import type { CostSource, Observation } from '../../src/observe/observation.ts'
import type { StoreFailure } from '../../src/quota/quota-store.ts'
import { tempFolder } from '../setup/at-end.ts'
import { refusingLimit, request } from './request.ts'
import { settled } from './settled.ts'

let folder: string
let files = 0
beforeEach(() => {
  folder = tempFolder()
})

/** The lines that a log writes of these observations. */
async function lines(observations: Observation[], options: LogOptions = {}) {
  const destination = join(folder, `log${++files}`)
  const log = createLog({ destination, ...options })
  for (const observation of observations) log.observer(observation)
  await log.close()
  const text = readFileSync(destination, 'utf8')
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
}

const ERROR = 50
const WARN = 40
const INFO = 30

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a worker names itself in each of its lines', async () => {
  const told = await lines([request(), { type: 'stopped' }], { worker: 2 })
  expect(told).toMatchObject([
    { msg: 'request', worker: 2 },
    { msg: 'stopped', worker: 2 },
  ])
})

test('a worker that is started, or ends, has a line, with the reason and what it said', async () => {
  const ended = { type: 'worker_ended', worker: 1, pid: 7 } as const
  const told = await lines([
    { type: 'worker_started', worker: 1, pid: 7 },
    { ...ended, reason: 'exit 1', problem: 'redis://u:secret@h/ fails', restartMs: 100 },
    { ...ended, reason: 'exit 0', problem: null, restartMs: null },
  ])
  expect(told).toMatchObject([
    { level: INFO, worker: 1, pid: 7, msg: 'worker started' },
    { level: ERROR, worker: 1, pid: 7, reason: 'exit 1', restartMs: 100, msg: 'worker ended unasked' },
    { level: INFO, worker: 1, pid: 7, reason: 'exit 0', msg: 'worker ended' },
  ])
  expect(told[1].detail).toBe('redis://[hidden]@h/ fails')
  expect(told[2]).not.toHaveProperty('detail')
})

test('a worker may have its lines written by another process as they are', async () => {
  const destination = join(folder, 'passed')
  const log = createLog({ destination })
  log.pass('{"msg":"one"}\n{"msg":"two"}\n')
  await log.close()
  expect(readFileSync(destination, 'utf8')).toBe('{"msg":"one"}\n{"msg":"two"}\n')
})

describe('a request', () => {
  test('a request is one line with exactly these fields', async () => {
    const [line, ...more] = await lines([request()])
    expect(more).toEqual([])
    expect(line).toEqual({
      level: INFO,
      time: expect.closeTo(Date.now(), -5),
      requestId: 'r-1',
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      user: 'alice',
      method: 'POST',
      route: 'POST /v1/music/upsert',
      category: 'write',
      cost: 15,
      outcome: 'forwarded',
      httpStatus: 200,
      clientStatus: 200,
      durationMs: 12.346,
      msg: 'request',
    })
  })

  test('a request has the ids of the traceparent that came with it', async () => {
    const [line] = await lines([request({ traceparent: TRACEPARENT })])
    expect(line).toMatchObject({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' })
  })

  test('a request without a traceparent has ids of its own, which are those of its request id', async () => {
    const [line] = await lines([request({ requestId: '0198c1d2-5a3f-4c77-9b1e-2f6a7d8e9c01' })])
    expect(line).toMatchObject({ traceId: '0198c1d25a3f4c779b1e2f6a7d8e9c01', spanId: '9b1e2f6a7d8e9c01' })
  })

  test('a request has the address and the path if they are asked for, and only then', async () => {
    const path = '/v1/"users"/jane'
    const [both, address, neither] = await lines([
      request({ access: { address: '2001:db8::7', path } }),
      request({ access: { address: '192.0.2.7', path: null } }),
      request(),
    ])
    expect(both).toMatchObject({ address: '2001:db8::7', path })
    expect(address).toMatchObject({ address: '192.0.2.7' })
    for (const line of [address, neither]) expect(line).not.toHaveProperty('path')
    expect(neither).not.toHaveProperty('address')
  })

  test('a request says so if the quota refused it and it was let through, and only then', async () => {
    const [shadowed, other] = await lines([request({ shadowed: true }), request()])
    expect(shadowed).toMatchObject({ outcome: 'forwarded', shadowed: true })
    expect(other).not.toHaveProperty('shadowed')
  })

  test('a request names what was let pass of it, and only then', async () => {
    const [mended, other] = await lines([request({ lenient: ['bare_lf', 'equal_lengths'] }), request()])
    expect(mended).toMatchObject({ outcome: 'forwarded', lenient: ['bare_lf', 'equal_lengths'] })
    expect(other).not.toHaveProperty('lenient')
    expect(other).not.toHaveProperty('notUpgraded')
  })

  test('a request has the same envelope as the lines that pino writes', async () => {
    const [ours, pinos] = await lines([request(), { type: 'stopped' }])
    expect(Object.keys(pinos)).toEqual(['level', 'time', 'msg'])
    expect(Object.keys(ours).slice(0, 2)).toEqual(['level', 'time'])
    expect(Object.keys(ours).at(-1)).toBe('msg')
    expect(typeof ours.time).toBe(typeof pinos.time)
  })

  test('a request that was denied has the error and the reason', async () => {
    const [line] = await lines([
      request({
        outcome: 'denied',
        error: 'unauthorized',
        reason: 'expired',
        user: null,
        httpStatus: null,
        clientStatus: 401,
      }),
    ])
    expect(line).toMatchObject({ level: INFO, error: 'unauthorized', reason: 'expired', user: null, httpStatus: null })
  })

  test.each([
    [
      'a failed forward warns',
      request({ outcome: 'failed', error: 'upstream_timeout', httpStatus: 0, clientStatus: 504 }),
      WARN,
    ],
    ['a body broken off by the upstream warns', request({ outcome: 'failed' }), WARN],
    [
      'a 503 of ours warns',
      request({ outcome: 'denied', error: 'store_unavailable', httpStatus: null, clientStatus: 503 }),
      WARN,
    ],
    [
      'a 500 of ours warns',
      request({ outcome: 'denied', error: 'internal', httpStatus: null, clientStatus: 500 }),
      WARN,
    ],
    ['a 500 of the upstream informs', request({ httpStatus: 500, clientStatus: 500 }), INFO],
    [
      'a refusal informs',
      request({ outcome: 'refused', error: 'quota_exceeded', httpStatus: null, clientStatus: 429 }),
      INFO,
    ],
    ['a client that left informs', request({ outcome: 'aborted', clientStatus: 499 }), INFO],
  ])('%s', async (_title, observation, level) => expect((await lines([observation]))[0].level).toBe(level))

  const mixed = [
    request({ requestId: 'good' }),
    request({ requestId: 'failed', outcome: 'failed', httpStatus: 0, clientStatus: 502 }),
    request({ requestId: 'broken off', outcome: 'failed' }),
    request({ requestId: 'backend 500', httpStatus: 500, clientStatus: 500 }),
  ]

  test('a request that went well is left out when only errors are wanted', async () => {
    expect((await lines(mixed, { requests: 'errors' })).map((l) => [l.requestId, l.level])).toEqual([
      ['failed', WARN],
      ['broken off', WARN],
      ['backend 500', INFO],
    ])
  })

  test('a request that was refused for want of the store is reported once with a count, when only errors are wanted', async () => {
    const denied = (requestId: string) =>
      request({ requestId, outcome: 'denied', error: 'store_unavailable', httpStatus: null, clientStatus: 503 })
    const many = Array.from({ length: 1000 }, (_, i) => denied(`r${i}`))
    const written = await lines(many, { requests: 'errors' })
    expect(written.map(({ requestId, count }) => [requestId, count])).toEqual([
      ['r0', undefined],
      ['r999', 999],
    ])
    expect(await lines(many, { requests: 'all' })).toHaveLength(1000)
  })

  test('a request is not counted with others that were refused for another reason, nor with those that the upstream refused', async () => {
    const denied = request({ outcome: 'denied', httpStatus: null, clientStatus: 503 })
    const twice = (done: Observation): Observation[] => [done, done]
    const written = await lines(
      [
        ...twice({ ...denied, error: 'store_unavailable' }),
        ...twice({ ...denied, error: 'overloaded' }),
        ...twice({ ...denied, error: 'internal', clientStatus: 500 }),
        ...twice(request({ httpStatus: 503, clientStatus: 503 })),
      ],
      { requests: 'errors' },
    )
    expect(written.map(({ error, httpStatus }) => error ?? httpStatus)).toEqual([
      ...['store_unavailable', 'overloaded', 'internal', 'internal', 503, 503],
      ...['store_unavailable', 'overloaded'],
    ])
  })

  test('a request has no line when none is wanted, while everything else has', async () => {
    expect((await lines([...mixed, { type: 'stopped' }], { requests: 'none' })).map((l) => l.msg)).toEqual(['stopped'])
  })

  test('a request obeys the level', async () => {
    expect((await lines(mixed, { level: 'warn' })).map((l) => l.requestId)).toEqual(['failed', 'broken off'])
    expect(await lines(mixed, { level: 'silent' })).toEqual([])
  })

  test('a request is one line, and has its texts as they are, whatever they hold', async () => {
    const odd = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a"\n{}\u2028\u0000\\', '\ud800', '配额', ''))
    const texts = fc.record({ user: fc.option(odd), method: odd, route: fc.option(odd), category: fc.option(odd) })
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1 }), async (requests) => {
        expect(await lines(requests.map(request))).toMatchObject(requests)
      }),
      { numRuns: 50 },
    )
  })
})

describe('failures of the store', () => {
  const failed = (reason: StoreFailure): Observation => ({
    type: 'store_failed',
    operation: 'settle',
    reason,
    message: 'no answer',
  })

  test('failures of the store are one line for each reason, with the count of the others, and recovery has one line', async () => {
    const seen = [...Array(1000).fill(failed('timeout')), ...Array(3).fill(failed('connection'))]
    const told = await lines([...seen, { type: 'store_recovered', downMs: 1234.5 }])
    expect(told.map(({ msg, reason, count }) => [msg, reason, count])).toEqual([
      ['the store fails', 'timeout', 1],
      ['the store fails', 'connection', 1],
      ['the store fails', 'timeout', 999],
      ['the store fails', 'connection', 2],
      ['the store answers again', undefined, undefined],
    ])
    expect(told[0]).toMatchObject({ level: ERROR, operation: 'settle', detail: 'no answer' })
    expect(told.at(-1)).toMatchObject({ level: INFO, downMs: 1235 })
    expect(told.at(-1)).not.toHaveProperty('policy')
  })

  test('failures of the store that follow from an outage are warnings while the error that the store is out stands', async () => {
    const fails = (operation: 'settle' | 'control', reason: 'timeout' | 'connection'): Observation => {
      return { type: 'store_failed', operation, reason, message: 'no answer' }
    }
    const told = await lines([
      fails('settle', 'timeout'),
      { type: 'store_out', reason: 'timeout' },
      fails('settle', 'connection'),
      fails('control', 'timeout'),
      { type: 'store_recovered', downMs: 300 },
      fails('control', 'connection'),
    ])
    expect(told.map(({ level, msg }) => [level, msg])).toEqual([
      [ERROR, 'the store fails'],
      [ERROR, 'the store is out: charges are decided without it'],
      [WARN, 'the store fails'],
      [WARN, 'the store fails'],
      [INFO, 'the store answers again'],
      [ERROR, 'the store fails'],
    ])
  })

  test('failures of the store that come and go are reported once in an interval each, with their counts', async () => {
    const flap: Observation[] = [
      { type: 'store_out', reason: 'timeout' },
      failed('timeout'),
      { type: 'store_connected' },
      { type: 'store_recovered', downMs: 300 },
      { type: 'outage_settled', tokens: 5 },
    ]
    const told = await lines(Array(1000).fill(flap).flat())
    const counts = Map.groupBy(told, ({ msg }) => msg)
    expect([...counts].map(([msg, each]) => [msg, each.map(({ count }) => count ?? 1)])).toEqual([
      ['the store is out: charges are decided without it', [1, 999]],
      ['the store fails', [1, 999]],
      ['connected to the store', [1, 999]],
      ['the store answers again', [1, 999]],
      ['what was admitted while the store was out is charged', [1, 999]],
    ])
  })

  test('failures of the store that come and go are reported in their order, so that the last line says how it is', async () => {
    const destination = join(folder, 'order')
    const log = createLog({ destination, storeFailureMs: 1000 })
    const out: Observation = { type: 'store_out', reason: 'timeout' }
    const back: Observation = { type: 'store_recovered', downMs: 300 }
    log.observer({ type: 'store_connected' })
    log.observer(out)
    log.observer({ type: 'store_connected' })
    log.observer(back)
    await sleep(60)
    for (const seen of [out, back, out, back]) log.observer(seen)
    const read = () => readFileSync(destination, 'utf8').trimEnd().split('\n')
    await expect.poll(() => log.flush().then(() => read().length)).toBeGreaterThan(5)
    await log.close()
    const told = read().map((line) => JSON.parse(line))
    expect(told.map(({ msg, count }) => [msg, count ?? 1])).toEqual([
      ['connected to the store', 1],
      ['the store is out: charges are decided without it', 1],
      ['connected to the store', 1],
      ['the store answers again', 1],
      ['the store is out: charges are decided without it', 2],
      ['the store answers again', 2],
    ])
  })

  test('failures of the store that come after a connection are reported after it, also if both wait for the end of an interval', async () => {
    const told = await lines(
      Array(3)
        .fill([{ type: 'store_connected' }, failed('connection')])
        .flat(),
    )
    expect(told.map(({ msg, count }) => [msg, count ?? 1])).toEqual([
      ['connected to the store', 1],
      ['the store fails', 1],
      ['connected to the store', 2],
      ['the store fails', 2],
    ])
  })

  test('failures of the store that last are reported once in an interval, with the policy in force and what became of the charges', async () => {
    const destination = join(folder, 'outage')
    const log = createLog({ destination, storeFailureMs: 50 })
    const read = () =>
      readFileSync(destination, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
    const still = () => read().filter(({ msg }) => msg === 'the store is still out: charges are decided without it')
    const charge = (verdict: 'accepted' | 'refused' | 'unable'): void =>
      log.observer({ type: 'outage_charge', category: 'read', verdict })
    const storeOutage = new Map([
      ['read', 0],
      ['write', 0.1],
      ['bulk', 0.1 / 3],
    ])
    const policy = { read: 'refuse', write: 'allow 10%', bulk: 'allow 3.333%' }
    log.observer({ type: 'config_loaded', file: 'f', hash: 'h', rules: 'r', storeOutage })
    log.observer({ type: 'store_out', reason: 'timeout' })
    for (const verdict of ['accepted', 'unable', 'accepted', 'refused'] as const) charge(verdict)
    await expect.poll(() => log.flush().then(() => still().length)).toBeGreaterThan(1)
    const failed = { type: 'store_failed', message: 'm' } as const
    log.observer({ ...failed, operation: 'settle', reason: 'readonly' })
    log.observer({ ...failed, operation: 'control', reason: 'other' })
    await expect.poll(() => log.flush().then(() => still().at(-1).reason)).toBe('readonly')
    log.observer({ type: 'store_recovered', downMs: 200 })
    await log.flush()
    const lasted = still()
    await sleep(200)
    await log.close()

    expect(read()[1]).toMatchObject({ msg: 'the store is out: charges are decided without it', policy })
    expect(lasted[0]).toMatchObject({
      level: ERROR,
      reason: 'timeout',
      policy,
      charges: { accepted: 2, refused: 1, unable: 1 },
    })
    expect(lasted[1]).toMatchObject({ charges: { accepted: 0, refused: 0, unable: 0 } })
    expect(lasted[1].outMs).toBeGreaterThan(lasted[0].outMs)
    expect(still()).toEqual(lasted)
  })

  test('failures of the store that were not reported yet are reported at the end', async () => {
    expect((await lines([failed('timeout'), failed('timeout')])).map((l) => l.count)).toEqual([1, 1])
  })
})

test('tokens that were admitted without the store and are never charged are a warning', async () => {
  const told = await lines([{ type: 'outage_tokens', event: 'lost', tokens: 41 }])
  expect(told).toMatchObject([{ level: WARN, tokens: 41 }])
})

test('changes at run time are reported when they are in force', async () => {
  const told = await lines([
    { type: 'control_followed', version: 7 },
    { type: 'adaptive_factor', factor: 0.8 },
  ])
  expect(told).toMatchObject([{ level: INFO, version: 7, msg: 'changes at run time are in force' }])
  expect(told).toHaveLength(1)
})

test('changes at run time that the store has lost are a warning', async () => {
  const told = await lines([
    { type: 'control_followed', version: 7, before: 0 },
    { type: 'control_followed', version: 7, before: 7 },
    { type: 'control_followed', version: 0, before: 7 },
  ])
  expect(told).toMatchObject([
    { level: INFO, version: 7 },
    { level: INFO, version: 7 },
    { level: WARN, version: 0, before: 7, msg: 'the store has lost changes at run time' },
  ])
})

test('a configuration that only some workers did not take is not reported as refused', async () => {
  const rejected = { type: 'config_rejected', file: 't.yaml', problems: ['worker 2: has not answered'] } as const
  const told = await lines([rejected, { ...rejected, type: 'config_partly' }])
  expect(told.map(({ msg }) => msg)).toEqual([
    'configuration refused, the one before stays in force',
    'configuration in force, but not in every worker',
  ])
  expect(told[1]).toMatchObject({ level: ERROR, problems: ['worker 2: has not answered'] })
})

test('an internal error has its stack and its causes', async () => {
  const error = new Error('broken', { cause: new Error('deeper') })
  const [line] = await lines([{ type: 'internal_error', where: 'gateway', error }])
  expect(line).toMatchObject({
    level: ERROR,
    where: 'gateway',
    err: { type: 'Error', message: 'broken', cause: { message: 'deeper' } },
  })
  expect(line.err.stack).toContain('log.test.ts')
})

test('what happens with every request or batch has no line, at any level', async () => {
  const quiet: Observation[] = [
    { type: 'batch_settled', charges: 1, refunds: 0, durationMs: 1 },
    settled(),
    settled({ kind: 'repeated' }),
    settled({ kind: 'given_back', tokens: -15 }),
    settled({ kind: 'refused', refusedBy: refusingLimit() }),
    settled({ kind: 'shadowed', refusedBy: 'store', at: null }),
    { type: 'unmatched', method: 'GET', path: '/x' },
    { type: 'credential_checked', cached: true },
    { type: 'log_lost', lines: 1 },
    { type: 'upgrade_opened' },
    { type: 'upgrade_closed' },
    { type: 'tunnel_ended', why: 'age' },
    { type: 'outage_charge', category: 'read', verdict: 'accepted' },
    { type: 'outage_tokens', event: 'owed', tokens: 4 },
    { type: 'outage_tokens', event: 'settled', tokens: 4 },
  ]
  expect(await lines(quiet, { level: 'trace' })).toEqual([])
})

test('bad connections are reported at debug only, for anybody can send them', async () => {
  const bad: Observation = { type: 'bad_connection', code: 'HPE_INVALID_METHOD', status: 400 }
  expect(await lines([bad])).toEqual([])
  expect(await lines([bad], { level: 'debug' })).toHaveLength(1)
})

test('requests that their connection refuses have a line with their id, and many of a kind share one', async () => {
  const refused = { method: null, error: 'headers_too_large', reason: 'bytes' } as const
  const seen = Array.from({ length: 25 }, (_, i): Observation => {
    return {
      type: 'bad_connection',
      code: 'headers_too_large',
      status: 431,
      refused: { ...refused, requestId: `id-${i}` },
    }
  })
  const told = await lines(seen)
  expect(told).toHaveLength(21)
  expect(told[0]).toMatchObject({
    level: INFO,
    requestId: 'id-0',
    outcome: 'denied',
    error: 'headers_too_large',
    reason: 'bytes',
    clientStatus: 431,
    msg: 'request refused on its connection',
  })
  expect(told.at(-1)).toMatchObject({ requestId: 'id-24', count: 5 })
  expect(await lines(seen, { requests: 'errors' })).toEqual([])
})

test('connections that find no place are reported with the limit that they met, at once and then together', async () => {
  const full: Observation = { type: 'bad_connection', code: 'too_many', status: 0 }
  const ofOne: Observation = { type: 'bad_connection', code: 'too_many_of_address', status: 0 }
  const msg = 'connections are turned away or closed: a limit is reached'
  expect(await lines([full, full, ofOne, full])).toMatchObject([
    { level: WARN, limit: 'edge.max_connections', count: 1, msg },
    { level: WARN, limit: 'edge.max_connections_per_address', count: 1, msg },
    { level: WARN, limit: 'edge.max_connections', count: 2, msg },
  ])
})

test('plans that are not configured are reported by name, each at once and then together, and no more than 20 of them', async () => {
  const named = (unknown: string): Observation => ({ ...settled(), plan: { name: null, from: null, unknown } })
  const msg = 'a credential names a plan that is not configured'
  expect(await lines([named('gold'), named('gold'), named('gw_secret'), named('gold')])).toMatchObject([
    { level: WARN, plan: 'gold', instead: 'none', msg },
    { level: WARN, plan: 'gw_secret', msg },
    { level: WARN, plan: 'gold', count: 2, msg },
  ])
  expect(await lines(Array.from({ length: 50 }, (_, i) => named(`made up ${i}`)))).toHaveLength(20)
})

test('costs that responses say otherwise than their rule has it are told once a minute for each rule and kind', async () => {
  const told = (source: CostSource, route = 'GET /a') => settled({ kind: 'corrected', tokens: 0, route, source })
  const usual = [told('response'), told('missing')]
  const odd = [told('malformed'), told('malformed'), told('malformed'), told('malformed', 'GET /b')]
  const unread = [told('above_max'), told('unread'), told('unsaid'), told('coded')]
  expect(await lines([...usual, ...odd, ...unread])).toMatchObject([
    { level: WARN, route: 'GET /a', msg: expect.stringContaining('no whole number of tokens') },
    { level: WARN, route: 'GET /b', msg: expect.stringContaining('no whole number of tokens') },
    { level: WARN, route: 'GET /a', msg: expect.stringContaining('more tokens than settle.max') },
    { level: WARN, route: 'GET /a', msg: expect.stringContaining('could not be read') },
    { level: WARN, route: 'GET /a', msg: expect.stringContaining('stream_options.include_usage') },
    { level: WARN, route: 'GET /a', msg: expect.stringContaining('a stream is compressed') },
    { level: WARN, route: 'GET /a', count: 2, msg: expect.stringContaining('no whole number of tokens') },
  ])
})

test('what a service says that its request cost has a line with the tokens before and after, if it changes them', async () => {
  const told = (tokens: number) =>
    settled({ kind: 'corrected', source: 'service', requestId: 'r1', cost: 20, at: 1_700_000_000_000, tokens })
  const all = [told(-13), told(0), told(5)]
  const of = { level: INFO, requestId: 'r1', user: 'alice', category: 'write', cost: 20, decidedAt: 1_700_000_000_000 }
  expect(await lines(all)).toMatchObject([
    { ...of, charged: 7, msg: 'settlement' },
    { ...of, charged: 25, msg: 'settlement' },
  ])
  expect(await lines(all, { requests: 'errors' })).toEqual([])
})

test('the line of a request has the plan of the caller, and by what it is exempt', async () => {
  const [plain, ofPlan, exempt] = await lines([
    request(),
    request({ plan: 'a "pro" plan' }),
    request({ exempt: 'address' }),
  ])
  expect(plain).not.toHaveProperty('plan')
  expect(plain).not.toHaveProperty('exempt')
  expect(ofPlan).toMatchObject({ plan: 'a "pro" plan', cost: 15, outcome: 'forwarded' })
  expect(exempt).toMatchObject({ exempt: 'address' })
})

test('each charge of an open tunnel has a line as that of a request, with its own cost and what refused it', async () => {
  const tunnel = {
    requestId: 'r-1',
    traceparent: TRACEPARENT,
    method: 'GET',
    kind: 'trusted',
    openMs: 3000,
    everyMs: 1000,
  }
  const [taken, refused, shadowed, exempt, ...more] = await lines([
    { ...settled({ plan: 'pro', at: 1_700_000_000_000 }), tunnel },
    { ...settled({ kind: 'refused', refusedBy: refusingLimit() }), tunnel },
    { ...settled({ kind: 'shadowed', refusedBy: refusingLimit() }), tunnel },
    { ...settled({ kind: 'exempt', exempt: 'user', at: null }), tunnel },
  ])
  expect(more).toEqual([])
  expect(taken).toEqual({
    level: INFO,
    time: expect.any(Number),
    requestId: 'r-1',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    user: 'alice',
    kind: 'trusted',
    method: 'GET',
    route: 'POST /v1/music/upsert',
    category: 'write',
    cost: 15,
    decidedAt: 1_700_000_000_000,
    plan: 'pro',
    outcome: 'charged',
    openMs: 3000,
    everyMs: 1000,
    msg: 'tunnel charge',
  })
  expect(refused).toMatchObject({
    outcome: 'refused',
    cost: 15,
    charged: 0,
    scope: 'Personal',
    window: '1h',
    limit: 120,
  })
  expect(shadowed).toMatchObject({ outcome: 'shadowed', shadowed: true, charged: 0, scope: 'Personal' })
  expect(exempt).toMatchObject({ outcome: 'exempt', exempt: 'user', charged: 0 })
  expect(exempt).not.toHaveProperty('decidedAt')
})

test('the line of a request names the plan of the credential where another one holds, or none', async () => {
  const [same, other, none, unused] = await lines([
    request({ plan: 'pro' }),
    request({ plan: 'free', namedPlan: 'gold' }),
    request({ plan: 'free', namedPlan: null }),
    request({ plan: null, namedPlan: 'team' }),
  ])
  expect(same).not.toHaveProperty('namedPlan')
  expect([other, none, unused]).toMatchObject([
    { plan: 'free', namedPlan: 'gold' },
    { plan: 'free', namedPlan: null },
    { namedPlan: 'team' },
  ])
})

test('the line of a request, and of what a WebSocket costs, has the day with which months begin where a credential or an override says it', async () => {
  const tunnel = { requestId: 'r-1', traceparent: null, method: 'GET', kind: null, openMs: 2000, everyMs: 1000 }
  const [none, both, other, ofTunnel] = await lines([
    request({ organisation: 'acme' }),
    request({ organisation: 'acme', days: { periodDay: 17 } }),
    request({ organisation: 'acme', days: { periodDay: 17, organisationDay: null } }),
    settled({ tunnel: { ...tunnel, days: { organisationDay: 3 } } }),
  ])
  for (const field of ['periodDay', 'organisationDay']) expect(none).not.toHaveProperty(field)
  expect(both).toMatchObject({ periodDay: 17 })
  expect(both).not.toHaveProperty('organisationDay')
  expect(other).toMatchObject({ periodDay: 17, organisationDay: null })
  expect(ofTunnel).toMatchObject({ organisationDay: 3 })
})

test('the line of a request has the organisation whose limits it shares, the limit that refused it, and when', async () => {
  const [plain, refused] = await lines([
    request(),
    request({
      organisation: 'acme "one"',
      outcome: 'refused',
      error: 'quota_exceeded',
      refusedBy: refusingLimit({ scope: 'organisation', window: 'month', source: 'plan "team"' }),
      decidedAt: 1_795_000_000_123,
    }),
  ])
  const fields = ['organisation', 'scope', 'window', 'limit', 'used', 'requested', 'resetAt', 'source', 'decidedAt']
  for (const field of fields) expect(plain).not.toHaveProperty(field)
  expect(refused).toMatchObject({
    organisation: 'acme "one"',
    scope: 'Organisation',
    window: 'month',
    limit: 120,
    used: 118,
    requested: 15,
    resetAt: '2026-08-06T16:00:00.000Z',
    source: 'plan "team"',
  })
  expect(refused).toHaveProperty('decidedAt', 1_795_000_000_123)
})

test('windows that had started in the future are reported at once, and then together', async () => {
  const ahead: Observation = { type: 'window_start_ahead', aheadMs: 2_592_000_400 }
  const msg = 'the clock of the store was ahead: windows that it started then count as started now'
  expect(await lines([ahead, ahead, ahead])).toMatchObject([
    { level: WARN, aheadSeconds: 2_592_000, msg },
    { level: WARN, aheadSeconds: 2_592_000, count: 2, msg },
  ])
})

test('a store whose clock differs is reported when that begins and when it ends, not each time it is compared', async () => {
  expect(
    await lines([
      { type: 'store_clock', offsetMs: -3_600_400 },
      { type: 'store_clock_apart', offsetMs: -3_600_400, apart: true },
      { type: 'store_clock', offsetMs: 3 },
      { type: 'store_clock_apart', offsetMs: 3, apart: false },
    ]),
  ).toMatchObject([
    { level: WARN, offsetSeconds: -3600, msg: 'the clock of the store and that of this gateway differ' },
    { level: INFO, offsetSeconds: 0, msg: 'the clock of the store and that of this gateway agree again' },
  ])
})

test.each<[Observation, number]>([
  [{ type: 'config_loaded', file: 't.yaml', hash: 'abc', rules: 'def' }, INFO],
  [{ type: 'config_rejected', file: 't.yaml', problems: ['t.yaml:1:1 listen: wrong'] }, ERROR],
  [{ type: 'config_warning', file: 't.yaml', problem: 'listen: later' }, WARN],
  [{ type: 'store_connected' }, INFO],
  [{ type: 'store_out', reason: 'timeout' }, ERROR],
  [{ type: 'outage_settled', tokens: 41 }, INFO],
  [{ type: 'store_warning', warning: 'eviction', message: 'eviction policy' }, WARN],
  [{ type: 'store_warning_over', warning: 'eviction' }, INFO],
  [{ type: 'unreadable_record', kind: 'access_key', list: '{tollgate}:tokens', id: 'zz' }, ERROR],
  [{ type: 'unreadable_record_over', kind: 'access_key', list: '{tollgate}:tokens', id: 'zz' }, INFO],
  [{ type: 'store_lost', file: 'q.db' }, ERROR],
  [{ type: 'outcome_unknown', charges: 3, settled: false }, WARN],
  [{ type: 'refunds_lost', tokens: 41 }, WARN],
  [{ type: 'additions_lost', tokens: 41 }, WARN],
  [{ type: 'outcome_unknown', charges: 3, settled: true }, INFO],
  [{ type: 'jwks_failed', issuer: 'https://id', message: 'timeout' }, WARN],
  [{ type: 'jwks_keys_refused', issuer: 'https://id', message: 'key 2' }, WARN],
  [{ type: 'introspection_out', provider: 'https://id/introspect', message: 'timeout' }, ERROR],
  [{ type: 'introspection_recovered', provider: 'https://id/introspect', downMs: 7 }, INFO],
  [{ type: 'certificate_refused', listener: 'admin', files: 'pair', file: 'tls.crt', problem: 'no key' }, ERROR],
  [{ type: 'listening', what: 'admin', url: 'http://x' }, INFO],
  [{ type: 'draining', inFlight: 2 }, INFO],
  [{ type: 'drain_ended' }, INFO],
  [{ type: 'cut_off', requests: 2 }, WARN],
])('%o has its level', async (observation, level) => {
  const { type, ...fields } = observation as Record<string, unknown>
  const told = await lines([observation])
  expect(told.map((l) => l.level)).toEqual([level])
  const values = Object.values(told[0])
  for (const value of Object.values(fields)) if (typeof value !== 'boolean') expect(values).toContainEqual(value)
})

test('no credential gets into the log, whatever text carries it', async () => {
  const secret = 'gw_CANARYcanaryCANARYcanaryCANARYca123456'
  const url = 'redis://user:CANARY@host'
  const told = await lines([
    request({ outcome: 'denied', error: 'unauthorized', reason: `not a token: ${secret}` }),
    { type: 'store_failed', operation: 'settle', reason: 'auth', message: url },
    { type: 'store_warning', warning: 'eviction', message: url },
    { type: 'config_rejected', file: 'f', problems: [url] },
    { type: 'config_warning', file: 'f', problem: url },
    { type: 'jwks_failed', issuer: 'i', message: `Bearer CANARY` },
    { type: 'introspection_out', provider: 'i', message: `Basic CANARY` },
    { type: 'certificate_refused', listener: 'gateway', files: 'pair', file: 'tls.crt', problem: url },
    {
      type: 'internal_error',
      where: 'x',
      error: Object.assign(new Error(secret, { cause: new Error(url) }), { headers: { authorization: 'CANARY' } }),
    },
  ])
  expect(told).toHaveLength(9)
  expect(JSON.stringify(told)).not.toMatch(/canary/i)
})

test('a process that exits with its log open has its last line written', () => {
  const source = JSON.stringify(new URL('../../src/observe/log.ts', import.meta.url).href)
  const code = `import { createLog } from ${source}; createLog().observer({ type: 'stopped' }); process.exit(0)`
  const text = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', code], { encoding: 'utf8' })
  expect(JSON.parse(text)).toMatchObject({ msg: 'stopped' })
})

test('a closed log leaves no listener on the process', async () => {
  const before = process.listenerCount('exit')
  for (let i = 0; i < 20; i++) await lines([])
  expect(process.listenerCount('exit')).toBe(before)
})

test('charges that the store has forgotten are reported with their tokens and the time of the first', async () => {
  const told = await lines([{ type: 'charges_lost', tokens: 41, since: Date.UTC(2026, 10, 29) }])
  expect(told).toMatchObject([{ level: ERROR, tokens: 41, since: '2026-11-29T00:00:00.000Z' }])
})

test('keys that the store has evicted are reported with their number', async () => {
  const told = await lines([{ type: 'keys_evicted', keys: 3107 }])
  expect(told).toMatchObject([{ level: ERROR, msg: 'the store has evicted keys, perhaps counters', keys: 3107 }])
})

test('a certificate that is loaded is reported with its listener, its file and its end', async () => {
  const expiresAt = Date.UTC(2027, 0, 1)
  const told = await lines([{ type: 'certificate_loaded', listener: 'admin', file: 'tls.crt', expiresAt }])
  expect(told).toMatchObject([{ level: INFO, what: 'admin', file: 'tls.crt', until: '2027-01-01T00:00:00.000Z' }])
})

test.each([
  [36, { level: WARN, msg: 'the certificate ends soon', days: 1 }],
  [-12, { level: ERROR, msg: 'the certificate has ended', days: 0 }],
  [-36, { level: ERROR, msg: 'the certificate has ended', days: -1 }],
])('a certificate with %i hours left is reported with its days', async (hours, line) => {
  const leftMs = hours * 60 * 60_000
  const told = await lines([{ type: 'certificate_expires', listener: 'gateway', file: 'tls.crt', leftMs }])
  expect(told).toMatchObject([{ ...line, what: 'gateway', file: 'tls.crt' }])
})
