import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLogs } from '../../src/replay/read-logs.ts'
import { replay } from '../../src/replay/replay.ts'
import { understood, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'

/** A WebSocket of 2 tokens a second, which a limit of 8 closes after three seconds, and a request in the middle of it. */

const folder = tempFolder()

const START = 1_795_000_000_000
const of = (requestId: string, at: number, more: object) => ({
  ...{ level: 30, time: START + at, requestId, user: 'alice', method: 'GET', route: 'GET /live', category: 'read' },
  ...{ cost: 2, decidedAt: START + at, ...more },
})
const due = (openMs: number, outcome: string) =>
  of('w', openMs + 300, { outcome, openMs, everyMs: 1000, msg: 'tunnel charge' })
const LINES = [
  due(1000, 'charged'),
  of('r', 1500, {
    route: 'GET /x',
    outcome: 'forwarded',
    httpStatus: 200,
    clientStatus: 200,
    durationMs: 5,
    msg: 'request',
  }),
  due(2000, 'charged'),
  { ...due(3000, 'refused'), charged: 0, scope: 'Personal', window: '1h', limit: 8, used: 8 },
  {
    ...of('w', 0, { outcome: 'aborted', httpStatus: 101, clientStatus: 101 }),
    time: START + 3310,
    durationMs: 3312,
    msg: 'request',
  },
]

async function replayed(limit: number, route: string, more = '', seen: readonly object[] = LINES) {
  const file = join(folder, 'own.log')
  writeFileSync(file, seen.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const rules = `
quota: { baselines: { personal: { read: { 1h: ${limit} }, write: { 1h: 99 } }, global: { read: { 1h: 1000 } } }, ${more} }
routes: [{ match: GET /live, ${route.includes('charges') ? '' : 'category: read, cost: 2,'} ${route} }, { match: GET /x, category: read, cost: 2 }]`
  const all = { format: 'auto', from: 0, to: Number.POSITIVE_INFINITY } as const
  const { journal } = await readLogs([file], all)
  const { total, uncharged } = await replay(understood(yaml('http://127.0.0.1:9', rules)).config, journal)
  const { refused, newlyRefused, spared, shadowed, tokens } = total
  return [{ refused, newlyRefused, spared, shadowed, tokens }, Object.fromEntries(uncharged)]
}

const nothing = { refused: 0, newlyRefused: 0, spared: 0, shadowed: 0 }

test('under the configuration that wrote the log each charge is as it was', async () => {
  expect(await replayed(8, 'tunnel_charge: 1s')).toEqual([{ ...nothing, refused: 1, tokens: 8 }, {}])
})

test('a WebSocket with several meters has a line for each of them, and each charge of it is one', async () => {
  const seen = LINES.flatMap((line) =>
    'openMs' in line ? [line, { ...line, category: 'write', cost: 3, further: true }] : [line],
  )
  const of = 'charges: { read: 2, write: 3 }, tunnel_charge: 1s'
  expect(await replayed(8, of, '', seen)).toEqual([{ ...nothing, refused: 1, tokens: 3 * 5 + 2 }, {}])
})

test('under a higher limit the charge that closed it is let through', async () => {
  expect(await replayed(100, 'tunnel_charge: 1s')).toEqual([{ ...nothing, spared: 1, tokens: 10 }, {}])
})

test('under a lower limit it is closed earlier, and costs no more; in shadow it stays open', async () => {
  expect(await replayed(4, 'tunnel_charge: 1s')).toEqual([
    { ...nothing, refused: 2, newlyRefused: 2, tokens: 4 },
    { closed: 1 },
  ])
  expect(await replayed(4, 'tunnel_charge: 1s', 'shadow: true')).toEqual([
    { ...nothing, spared: 1, shadowed: 3, tokens: 4 },
    {},
  ])
})

test('a tunnel that costs the same again more often, more seldom or never is charged so', async () => {
  expect(await replayed(100, 'tunnel_charge: 2s')).toMatchObject([{ tokens: 6 }, { not_due: 2 }])
  expect(await replayed(100, '')).toMatchObject([{ tokens: 4 }, { not_due: 3 }])
})
