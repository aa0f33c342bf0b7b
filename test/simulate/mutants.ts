import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Check, Edit, Mutation } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'

/**
 * npm run mutants                     makes each mistake of mutations.ts in a copy of the project, where a test must fail
 * npm run mutants -- clock            only those whose name has this text, or one of several
 * npm run mutants -- src/quota/ledger only those in files whose path has it
 * npm run mutants -- series           also those that the check of this name must notice
 *
 * Exits with 1 when a mistake goes unnoticed, or when a text to be changed is no longer there.
 */
const root = join(import.meta.dirname, '..', '..')
const vitest = (...files: string[]): string[] => ['node_modules/vitest/vitest.mjs', 'run', '--bail', '1', ...files]

const CHECKS: Record<Check, readonly string[]> = {
  simulation: ['test/simulate/main.ts', '--count', '300'],
  redis: vitest('test/store/redis/redis-store.test.ts'),
  'one charge': vitest('test/store/redis/charge-one.test.ts', 'test/store/redis/charge-encoder.test.ts'),
  reset: vitest('test/store/redis/quota-reset.test.ts'),
  model: vitest('test/store/redis/model.test.ts'),
  sqlite: vitest('test/store/sqlite'),
  calendar: vitest('test/quota/calendar.test.ts'),
  clock: vitest('test/store/clock.test.ts'),
  ledger: vitest('test/quota/ledger'),
  losses: vitest(
    'test/quota/ledger/losses.test.ts',
    'test/quota/ledger/refunds.test.ts',
    'test/quota/ledger/settlement.test.ts',
  ),
  meters: vitest('test/e2e/several-meters.test.ts'),
  grants: vitest('test/e2e/grants.test.ts', 'test/control/grants.test.ts'),
  plans: vitest('test/quota/plans.test.ts', 'test/e2e/plans.test.ts'),
  cost: vitest(
    'test/gateway/response-cost.test.ts',
    'test/gateway/response-text.test.ts',
    'test/routing/final-cost.test.ts',
  ),
  history: vitest('test/store/packed-history.test.ts', 'test/store/sqlite/history.test.ts'),
  'redis history': vitest('test/store/redis/history.test.ts'),
  series: vitest(
    'test/usage/bound-of-refusals.long.test.ts',
    'test/store/sqlite/sqlite-store.test.ts',
    'test/store/redis/redis-store.test.ts',
    '-t',
    'series and refusals|refusals of a week',
  ),
  recorder: vitest('test/usage/recorder.test.ts'),
  bills: vitest('test/usage', 'test/store/redis/history.test.ts'),
  overrides: vitest('test/quota/plans.test.ts', 'test/quota/policy.test.ts'),
  arithmetic: vitest('test/quota/arithmetic.test.ts', 'test/quota/counter.test.ts', 'test/quota/window.test.ts'),
}
/** A check that takes this long hangs, which is noticed as well: or so many times as long as without a mistake. */
const LONGEST_MS = 90_000
const TIMES = 3
/** Without a mistake, on a busy machine. */
const MOST_MS = 600_000
const longest = new Map<Check, number>()
/** The mutant does not even run: it shows nothing. */
const BROKEN =
  /SyntaxError|Transform failed|Error compiling script|is not defined|attempt to (?!compare number with nil)/

const startedAt = performance.now()
const texts = process.argv.length > 2 ? process.argv.slice(2) : ['']
const wanted = MUTATIONS.filter(({ name, edits, noticedBy }) =>
  [name, ...noticedBy, ...edits.map(({ file }) => file)].some((each) => texts.some((text) => each.includes(text))),
)
const folder = await mkdtemp(join(tmpdir(), 'tollgate-mutants-'))
let survivors = 0
try {
  await copyProject()
  for (const mutation of wanted) await tryOut(mutation)
} finally {
  await rm(folder, { recursive: true, force: true })
}
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`${wanted.length} mutants, ${wanted.length - survivors} killed, ${survivors} survived; ${seconds} s`)
process.exitCode = survivors === 0 ? 0 : 1

async function copyProject(): Promise<void> {
  const left = new Set(['node_modules', '.git', '.tollgate', 'dist'])
  await cp(root, folder, { recursive: true, filter: (path) => !left.has(relative(root, path)) })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
}

async function tryOut(mutation: Mutation): Promise<void> {
  try {
    console.log(`${(await verdict(mutation)).padEnd(24)} ${mutation.name}`)
  } catch (error) {
    survivors++
    console.log(`${'NOT TRIED'.padEnd(24)} ${mutation.name}: ${error instanceof Error ? error.message : error}`)
  }
}

/** A check that fails anyway would kill every mutant: each is run without one before it is first needed. */
async function mustBeSound(check: Check): Promise<void> {
  if (longest.has(check)) return
  const began = performance.now()
  const { failed, output } = await run(check)
  if (failed) throw new Error(`the check «${check}» fails without any mutation:\n${output.slice(-2000)}`)
  longest.set(check, Math.max(LONGEST_MS, TIMES * (performance.now() - began)))
}

async function withMistake<T>(edits: readonly Edit[], work: () => Promise<T>): Promise<T> {
  const before = await Promise.all(edits.map(({ file }) => readFile(join(folder, file), 'utf8')))
  try {
    for (const each of edits) await apply(each)
    return await work()
  } finally {
    await Promise.all(edits.map(({ file }, i) => writeFile(join(folder, file), before[i] as string)))
  }
}

async function apply({ file, from, to }: Edit): Promise<void> {
  const path = join(folder, file)
  const parts = (await readFile(path, 'utf8')).split(from)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`)
  await writeFile(path, parts.join(to))
}

async function verdict({ edits, noticedBy }: Mutation): Promise<string> {
  for (const check of noticedBy) {
    await mustBeSound(check)
    const { failed, output, hangs } = await withMistake(edits, () => run(check))
    const broken = BROKEN.exec(output)
    if (broken !== null) throw new Error(`it does not run: ${output.slice(broken.index, broken.index + 200)}`)
    if (failed) return `killed by ${check}${hangs ? ' (hangs)' : ''}`
  }
  survivors++
  return 'SURVIVED'
}

async function run(check: Check): Promise<{ failed: boolean; output: string; hangs: boolean }> {
  const env = { ...process.env, TOLLGATE_RUNS: '1' }
  const child = spawn(process.execPath, CHECKS[check], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  let hangs = false
  const timer = setTimeout(() => {
    hangs = true
    child.kill('SIGTERM')
  }, longest.get(check) ?? MOST_MS)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearTimeout(timer)
  return { failed: code !== 0, output, hangs }
}
