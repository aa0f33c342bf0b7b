import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { overrides as command } from '../../src/cli/overrides.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { YAML } from '../admin/running.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { done } from './called.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

const folder = tempFolder()
beforeAll(async () => {
  const file = join(folder, 'quota.db')
  writeFileSync(join(folder, 'tollgate.yaml'), YAML.replace('sqlite::memory:', `sqlite:${file}`))
  await openSqliteStore({ file }).close()
})

const overrides = (...args: string[]) => done('overrides', ...args, '-c', join(folder, 'tollgate.yaml'))
const byProgram = (...args: string[]) =>
  run(process.execPath, ['src/main.ts', 'overrides', ...args, '-c', join(folder, 'tollgate.yaml')])

test('overrides of a file are put in force on the command line, and written to a file again', async () => {
  const file = join(folder, 'overrides.csv')
  writeFileSync(file, "user,reason,read.1h,write.1h\nbob,busy,50,\n'=eve,busy,,10\n")
  const tried = await overrides('apply', '-f', file, '--dry-run')
  expect(tried.stdout).toContain('would be 2 added, 0 changed, 0 removed, 0 unchanged: 2 overrides in ')
  expect((await overrides('export')).stdout).toBe('')
  const applied = await byProgram('apply', '-f', file, '--reason', 'a week of music')
  expect(applied.stdout).toContain('2 added, 0 changed, 0 removed, 0 unchanged: 2 overrides in ')
  expect(applied.stderr).toContain('line 3: warning: POST /v1/music/upsert, POST /v1/charge:')
  const unseen = `${file}: warning: Neither a request nor an access key is kept of user bob (line 2) and user =eve (line 3), so look whether these are the ids that you mean.\n`
  expect([tried.stderr, applied.stderr].map((text) => text.endsWith(unseen))).toEqual([true, true])
  expect((await overrides('apply', '-f', file)).stderr).not.toContain('Neither')
  const { stdout } = await overrides('export')
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each)),
  ).toEqual([
    { user: '=eve', write: { '1h': 10 }, reason: 'busy' },
    { user: 'bob', read: { '1h': 50 }, reason: 'busy' },
  ])
  const csv = (await overrides('export', '--format', 'csv')).stdout
  expect(csv).toContain("\n'=eve,")
  const store = closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') }))
  expect(await store.readAudit(null, 10)).toMatchObject([
    { version: 1, what: 'overrides', who: 'command line', why: 'a week of music' },
  ])
  for (const [text, said] of [
    ['', /the file sets nothing, and would remove all 2 overrides: nothing was changed\. Add --allow-empty/],
    [
      'user,reason,read.1h\nbob,busy,50\n',
      /1 of 2 overrides would be removed, .*: nothing was changed\. Add --max-removed/,
    ],
  ] as const) {
    writeFileSync(file, text)
    const stderr = expect.stringMatching(said)
    await expect(overrides('apply', '-f', file)).rejects.toMatchObject({ code: 1, stdout: '', stderr })
    const tried = expect.stringMatching(new RegExp(said.source.replace('nothing was changed', 'it would be refused')))
    const stdout = expect.stringContaining('would be 0 added')
    await expect(overrides('apply', '-f', file, '--dry-run')).rejects.toMatchObject({ code: 1, stdout, stderr: tried })
  }
  expect((await overrides('export', '--format', 'csv')).stdout).toBe(csv)
  writeFileSync(file, 'user,reason,read.1h\nbob,busy,fifty\n')
  const stderr = expect.stringMatching(/overrides\.csv: line 2, read\.1h: must be a whole number/)
  await expect(overrides('apply', '-f', file)).rejects.toMatchObject({ code: 1, stdout: '', stderr })
  expect((await overrides('export', '--format', 'csv')).stdout).toBe(csv)
  expect(readFileSync(file, 'utf8')).toContain('fifty')
})

test('a merged file has its lines with an end laid above what is set, twenty at most', async () => {
  const file = join(folder, 'launch.ndjson')
  const ends = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const lines = (count: number) =>
    Array.from({ length: count }, (_, i) =>
      JSON.stringify({ user: 'fay', read: { '1h': 100 + i }, reason: 'a launch', expiresAt: ends(i + 1) }),
    )
  writeFileSync(file, '{"user":"fay","read":{"1h":70},"reason":"for good"}')
  await overrides('apply', '-f', file, '--merge')
  writeFileSync(file, lines(1).join('\n'))
  expect((await overrides('apply', '-f', file, '--merge')).stdout).toContain('0 added, 1 changed')
  const { stdout } = await overrides('export')
  expect(stdout.split('\n').filter((line) => line.includes('fay'))).toEqual([
    '{"user":"fay","read":{"1h":70},"reason":"for good"}',
    expect.stringContaining('"read":{"1h":100},"reason":"a launch","expiresAt"'),
  ])
  writeFileSync(file, lines(21).join('\n'))
  const stderr = expect.stringContaining('line 1, expiresAt: 20 overrides with an end lie above each other already')
  await expect(overrides('apply', '-f', file, '--merge')).rejects.toMatchObject({ code: 1, stdout: '', stderr })
})

test.each([
  [[], 'overrides takes apply or export'],
  [['apply'], 'overrides apply needs -f FILE'],
  [['apply', 'x'], 'overrides apply does not take "x"'],
  [['export', '--merge'], 'overrides export does not take --merge'],
  [['export', '--format', 'xml'], '--format takes ndjson or csv'],
  [['apply', '-f', 'x', '--max-removed', 'half'], '--max-removed takes a number'],
])('overrides %j is a wrong call', async (args, message) => {
  expect(await wrongCall(command(args))).toBe(message)
})

test('an export of many overrides ends well when its reader leaves after the first line', async () => {
  const file = join(folder, 'many.ndjson')
  const lines = Array.from({ length: 5000 }, (_, i) =>
    JSON.stringify({ user: `listener-${i}`, read: { '1h': 100 + i }, reason: 'load' }),
  )
  writeFileSync(file, lines.join('\n'))
  await overrides('apply', '-f', file, '--merge')
  const pipe = 'set -o pipefail; "$0" src/main.ts overrides export -c "$1" | head -1'
  const { stdout, stderr } = await run('bash', ['-c', pipe, process.execPath, join(folder, 'tollgate.yaml')])
  expect([stdout.split('\n').length, stderr]).toEqual([2, ''])
})
