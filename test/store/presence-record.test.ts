import { expect, it } from 'vitest'
import { FORGET_MS } from '../../src/replicas/presence.ts'
import { heard, listedReplicas } from '../../src/store/presence-record.ts'
import { openDatabase, SqliteFile } from '../../src/store/sqlite/database.ts'
import { sqliteReplicas } from '../../src/store/sqlite/replicas.ts'

const counts = { requests: 1, refused: 2, shadowed: 3, tokens: 4, forwarded: 5, failed: 6, inFlight: 7 }
const names = { instance: 'i', host: 'h', pid: 1, version: 'v', hash: 'x', controlVersion: 0, startedAt: 1 }
const replica = { ...names, ready: true, reasons: [], configProblems: [], counts, hits: { 'GET /a': 1 }, unmatched: [] }

it('a process that reports what we report, and more, is heard', () => {
  const told = { ...replica, more: 1 }
  expect(heard(JSON.stringify(told), 5)).toEqual([{ replica: told, at: 5 }])
})

it.each([
  ['no JSON', 'x'],
  ['nothing', 'null'],
  ['too little', '{}'],
  ['a list', '[]'],
  ['counts that are missing', JSON.stringify({ ...replica, counts: {} })],
  ['hits that are no numbers', JSON.stringify({ ...replica, hits: { a: 'x' } })],
  ['unmatched that is no list', JSON.stringify({ ...replica, unmatched: 'x' })],
  ['a host that is no text', JSON.stringify({ ...replica, host: 7 })],
  ['a time that is none', JSON.stringify({ ...replica, startedAt: 'x' })],
])('a process that reports %s is not heard, so that it cannot hide the others', (_what, text) => {
  expect(heard(text, 5)).toEqual([])
})

it('a process that was silent for as long as it may be is listed, and one that was for longer is not', () => {
  const silent = (ms: number) => listedReplicas([{ replica: { ...replica, ready: true }, at: 0 }], ms)
  expect(silent(FORGET_MS)).toMatchObject([{ instance: 'i', silentMs: FORGET_MS }])
  expect(silent(FORGET_MS + 1)).toEqual([])
})

it('processes are listed by host, then by pid as a number, then by instance', () => {
  const each = [
    { ...replica, host: 'b', pid: 1 },
    { ...replica, host: 'a', pid: 10, instance: 'z' },
    { ...replica, host: 'a', pid: 10, instance: 'y' },
    { ...replica, host: 'a', pid: 9, instance: 'zz' },
  ]
  const listed = listedReplicas(
    each.map((replica) => ({ replica, at: 0 })),
    0,
  )
  expect(listed.map(({ host, pid, instance }) => `${host} ${pid} ${instance}`)).toEqual([
    'a 9 zz',
    'a 10 y',
    'a 10 z',
    'b 1 i',
  ])
})

it('a process that was killed leaves no row behind in the file of the embedded store', async () => {
  const database = openDatabase(':memory:')
  let clock = 1_000_000
  const replicas = sqliteReplicas(new SqliteFile(database), () => clock)
  const rows = () => database.prepare('SELECT instance FROM replicas ORDER BY instance').all()
  await replicas.beat({ ...replica, instance: 'killed' })
  clock += FORGET_MS
  await replicas.beat({ ...replica, instance: 'alive' })
  expect(rows()).toEqual([{ instance: 'alive' }, { instance: 'killed' }])
  clock += 1
  await replicas.beat({ ...replica, instance: 'alive' })
  expect(rows()).toEqual([{ instance: 'alive' }])
  database.close()
})
