import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { plans as command } from '../../src/cli/plans.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { YAML } from '../admin/running.ts'
import { tempFolder } from '../setup/at-end.ts'
import { done } from './called.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)
const PLANS = 'plans: { free: { personal: { read: { 1h: 40, 5h: unlimited } } }, team: {} }'

const folder = tempFolder()
let file: string
let stores = 0
beforeEach(async () => {
  file = join(folder, `quota-${++stores}.db`)
  const yaml = YAML.replace('sqlite::memory:', `sqlite:${file}`)
  writeFileSync(join(folder, 'tollgate.yaml'), yaml.replace('quota:\n', `quota:\n  default_plan: free\n  ${PLANS}\n`))
  await openSqliteStore({ file }).close()
})

const plans = (...args: string[]) => done('plans', ...args, '-c', join(folder, 'tollgate.yaml'))
const byProgram = (...args: string[]) =>
  run(process.execPath, ['src/main.ts', 'plans', ...args, '-c', join(folder, 'tollgate.yaml')])
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
async function inStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore({ file })
  return work(store).finally(() => store.close())
}
const settings = () => inStore(async (store) => (await store.readControl()).settings.value)

test('limits of plans are put in force from a file, listed, and given back by a file that sets nothing', async () => {
  const wanted = write('plans.yaml', 'plans:\n  free: { personal: { read: { 1h: 60 }, write: { 5h: unlimited } } }\n')
  const tried = await plans('apply', '-f', wanted, '--dry-run')
  expect(tried.stdout).toBe(
    [
      'plans.free.personal.read.1h: as in the configuration -> 60',
      'plans.free.personal.write.5h: as in the configuration -> unlimited',
      `would be 2 limits of plans changed in ${file}`,
      '',
    ].join('\n'),
  )
  expect(await settings()).toEqual({})
  const applied = await byProgram('apply', '-f', wanted, '--reason', 'a busy evening')
  expect(applied).toMatchObject({ stdout: expect.stringContaining(`2 limits of plans changed in ${file}`) })
  expect((await plans('list')).stdout.split('\n')).toEqual([
    'free\tpersonal\tread\t1h\t60\tfile: 40',
    'free\tpersonal\tread\t5h\tunlimited',
    'free\tpersonal\twrite\t5h\tunlimited\tfile: not set',
    'team\tas the baselines',
    '',
  ])
  expect(await inStore((store) => store.readAudit(null, 10))).toMatchObject([
    { version: 1, what: 'settings', who: 'command line', why: 'a busy evening' },
  ])
  expect((await plans('apply', '-f', wanted)).stdout).toContain('0 limits of plans changed')
  const { stdout } = await plans('list', '--json')
  expect((await plans('apply', '-f', write('again.json', stdout))).stdout).toContain('0 limits of plans changed')
  const empty = write('empty.yaml', 'plans: {}\n')
  const stderr = expect.stringContaining('sets no limit, so nothing was changed. Add --allow-empty')
  await expect(plans('apply', '-f', empty)).rejects.toMatchObject({ code: 1, stdout: '', stderr })
  expect((await plans('apply', '-f', empty, '--allow-empty')).stdout).toContain(
    'plans.free.personal.read.1h: 60 -> as in the configuration',
  )
  expect(await settings()).toEqual({})
  expect(await inStore((store) => store.readAudit(null, 10))).toHaveLength(2)
})

test('limits of plans of a merged file come beside those that were set, and a limit that was set for a while stays above', async () => {
  const layer = {
    id: 'tonight',
    from: 1,
    until: Date.now() + 3_600_000,
    begun: true as const,
    who: 'ann',
    why: 'a fair',
  }
  const value = { plans: { free: { personal: { read: { '1h': 80 } } } } }
  const to = { plans: { free: { personal: { read: { '5h': 7 } } } }, layers: [{ ...layer, value }] }
  await inStore((store) => store.change({ kind: 'settings', to }, { who: 'ann', why: null }, 0))
  const lines = write(
    'plans.ndjson',
    '{"plan":"free","personal":{"write":{"1h":9}}}\n\n{"plan":"team","organisation":{"read":{"1h":5}}}\n',
  )
  const merged = await plans('apply', '-f', lines, '--merge')
  expect(merged.stdout).toContain('2 limits of plans changed')
  expect(merged.stderr).toContain(
    'plans.team.organisation.read.1h: warning: nobody follows this value: plan team has no known users\n',
  )
  expect((await inStore((store) => store.readAudit(null, 1)))[0]).toMatchObject({
    why: null,
    vain: { unfollowed: [{ path: 'plans.team.organisation.read.1h' }], movesNobody: false },
  })
  const team = { organisation: { read: { '1h': 5 } } }
  expect(await settings()).toMatchObject({
    plans: { free: { personal: { read: { '5h': 7 }, write: { '1h': 9 } } }, team },
    layers: [{ id: 'tonight', value }],
  })
  await plans('apply', '-f', lines)
  expect(await settings()).toMatchObject({ layers: [{ id: 'tonight', value }] })
  expect((await settings()).layers).toHaveLength(1)
  expect((await plans('list', '--json')).stdout).toBe(
    `${JSON.stringify({ plans: { free: { personal: { write: { '1h': 9 } } }, team } })}\n`,
  )
  expect((await inStore((store) => store.readAudit(null, 1)))[0]?.why).toBe(null)
})

test.each([
  [
    'plans.yaml',
    'plans: { fre: {} }',
    'plans.fre: unknown plan "fre"; did you mean "free"?: a plan begins in the file',
  ],
  [
    'plans.yaml',
    'plans: { free: { personal: { read: { 9h: 1 } } } }',
    'plans.free.personal.read.9h: unknown window "9h"',
  ],
  [
    'plans.yaml',
    'plans: { free: { personal: { read: { 1h: null } } } }',
    'plans.free.personal.read.1h: is null: leave it out',
  ],
  ['plans.yaml', 'plans: { free: {} }\nquota: {}', 'quota: is no part of a file of plans'],
  ['plans.yaml', 'plans: [', 'line 1, column 8'],
  ['plans.yaml', '', 'is empty: write plans: {'],
  ['plans.yaml', '{"plans":{"__proto__":{"personal":{}}}}', 'plans.__proto__: unknown plan'],
  ['plans.json', '{"plans":{},"plans":{}}', 'plans: is here twice: keep one'],
  ['plans.ndjson', '{"plan":"free"}\n{"plan":', 'line 2'],
  [
    'plans.ndjson',
    '{"plan":"free"}\n{"plan":"free"}',
    'entry 2: names plan free, which stands above already: keep one',
  ],
  ['plans.ndjson', '{"personal":{}}', 'entry 1: must have the name of a plan under plan'],
])(
  'limits of plans of a file %s with a mistake (%j) change nothing, and the mistake is named',
  async (name, text, said) => {
    const wrong = write(name, text)
    const stderr = expect.stringContaining(`${wrong}: ${said}`)
    await expect(plans('apply', '-f', wrong)).rejects.toMatchObject({ code: 1, stdout: '', stderr })
    expect(await settings()).toEqual({})
  },
)

test.each([
  [[], 'plans takes apply or list'],
  [['set'], 'plans takes apply or list'],
  [['list', 'free'], 'plans list does not take "free"'],
  [['list', '--merge'], 'plans list does not take --merge'],
  [['apply', '-f', 'x', '--json'], 'plans apply does not take --json'],
  [['apply'], 'plans apply needs -f FILE'],
  [['apply', '-f', 'x', '--reason', ' '], '--reason must be a sentence'],
])('limits of plans with the arguments %j are called wrongly', async (args, said) => {
  expect(await wrongCall(command(args))).toContain(said)
})
