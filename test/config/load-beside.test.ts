import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { expect, test, vi } from 'vitest'
import { fingerprint } from '../../src/config/fingerprint.ts'
import { type LoadResult, loadConfig, problemAt } from '../../src/config/load.ts'
import { loadBeside } from '../../src/config/load-beside.ts'
import { tempFolder } from '../setup/at-end.ts'

// Each starts threads.
vi.setConfig({ testTimeout: 60_000 })

const folder = tempFolder()

function fileOf(rules: number, more = ''): string {
  const file = join(folder, `${rules}.yaml`)
  const routes = Array.from({ length: rules }, (_, i) => `  - { match: "GET /v${i}/{id}", category: read, cost: ${i} }`)
  writeFileSync(file, `upstream: { url: "http://127.0.0.1:9000" }\n${more}routes:\n${routes.join('\n')}\n`)
  return file
}

const programOf = (text: string): URL => {
  const file = join(folder, 'program.mjs')
  writeFileSync(file, text)
  return new URL(`file://${file}`)
}

function usable(result: LoadResult) {
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

test('a configuration that is read beside the traffic is the same as one that is read in the way, with each of its rules, patterns and maps', async () => {
  const file = fileOf(1201, 'quota: { plans: { gold: { personal: { read: { 1h: 9 } } } } }\nerrors: { }\n')
  const [here, beside] = [usable(await loadConfig(file, {})), usable(await loadBeside(file, {}))]
  expect(beside.config).toEqual(here.config)
  expect(beside.config.routes).toHaveLength(1201)
  expect([beside.hash, beside.textHash, beside.warnings]).toEqual([here.hash, here.textHash, here.warnings])
  expect(fingerprint(beside.config)).toBe(fingerprint(here.config))
})

test('a configuration that is read beside the traffic takes the variables that it is given', async () => {
  const file = fileOf(1, `admin: { token: "$\{ADMIN_TOKEN}" }\n`)
  const env = { ADMIN_TOKEN: 'a-token-of-an-administrator-0123456789' }
  expect(usable(await loadBeside(file, env)).config).toEqual(usable(await loadConfig(file, env)).config)
  expect(await loadBeside(file, {})).toEqual(await loadConfig(file, {}))
})

test('a configuration that is read beside the traffic has its problems, which are all there is of it', async () => {
  const file = fileOf(600, 'quota: { mode: odd }\nlisten: nowhere\n')
  const beside = await loadBeside(file, {})
  expect(beside).toEqual(await loadConfig(file, {}))
  expect(beside.ok).toBe(false)
  const missing = join(folder, 'no.yaml')
  expect(await loadBeside(missing, {})).toEqual(await loadConfig(missing, {}))
})

test('a configuration that is read beside the traffic still places what is found wrong later', async () => {
  const loaded = usable(await loadBeside(fileOf(2, 'admin:\n  token: a-token-of-an-administrator-0123\n'), {}))
  expect(problemAt(loaded, ['admin', 'token'], 'is known to all')).toMatchObject({ line: 3, column: 10 })
})

test('a configuration that is read beside the traffic costs this thread a tenth of what reading costs', async () => {
  const file = fileOf(3000)
  const of = async (load: () => Promise<LoadResult>): Promise<number> => {
    const before = getHeapStatistics().total_allocated_bytes
    usable(await load())
    return getHeapStatistics().total_allocated_bytes - before
  }
  const here = await of(() => loadConfig(file, {}))
  expect(await of(() => loadBeside(file, {}))).toBeLessThan(here / 10)
})

test.each([
  ['cannot begin', 'throw new Error("no memory")'],
  ['ends without a word', ''],
  ['ends in the middle', 'process.exit(3)'],
  ['says nothing of use', 'import { parentPort } from "node:worker_threads"; parentPort.postMessage({})'],
])('a configuration that is read beside the traffic is read in the way where the thread %s', async (_what, program) => {
  const file = fileOf(2)
  expect(await loadBeside(file, {}, programOf(program))).toEqual(await loadConfig(file, {}))
})
