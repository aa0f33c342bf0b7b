import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NOTHING_COUNTED } from './oracle.ts'
import { type ScriptRunner, startScriptRunner } from './real-redis.ts'
import { type Outcome, simulate } from './simulation.ts'

/** `npm run simulate` runs 10,000. */
const SEEDS = 40

let runner: ScriptRunner
beforeAll(async () => {
  runner = await startScriptRunner()
})
afterAll(() => runner.close())

/** @throws with all that is needed to see what happened */
function mustBeExact({ seed, trace, failure }: Outcome): void {
  if (failure === null) return
  throw new Error(`seed ${seed}: ${failure.message}\nAgain: npm run simulate -- --seed ${seed}\n${trace.join('\n')}`)
}

it(`gateways, a network and a Redis that a seed drives end with every charge counted once, in each of ${SEEDS} worlds`, {
  timeout: 300_000,
}, async () => {
  const inUsage = { flushes: 0, repeatedFlushes: 0, lostFlushes: 0, forgottenFlushes: 0, inEpisodes: 0 }
  const inInvoices = { invoices: 0, invoiced: 0, incomplete: 0, invoicedBySeries: 0, incompleteBySeries: 0 }
  const sum = { ...NOTHING_COUNTED, ...inUsage, tokensOfDays: 0, ...inInvoices }
  for (let seed = 1; seed <= SEEDS; seed++) {
    const outcome = await simulate(seed, runner)
    mustBeExact(outcome)
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += outcome.count[name]
  }
  // Were one of these 0, the worlds would be too quiet to show anything.
  for (const [name, count] of Object.entries(sum)) expect(count, name).toBeGreaterThan(0)
})

it('gateways, a network and a Redis that a seed drives tell the same story for the same seed, whatever ran before', {
  timeout: 60_000,
}, async () => {
  const seeds = [4711, 4712, 4713]
  const first = await hashes(seeds)
  const second = await hashes([...seeds].reverse())
  expect(second.reverse()).toEqual(first)
  expect(new Set(first).size).toBe(seeds.length)
})

it('gateways, a network and a Redis that a seed drives tell the same story in another process, by the command that a failure names', {
  timeout: 60_000,
}, async () => {
  const [hash] = await hashes([4711])
  const { stdout } = await promisify(execFile)(process.execPath, ['test/simulate/main.ts', '--seed', '4711'])
  expect(stdout).toContain(`trace ${hash}`)
  expect(stdout).toContain('1 seed, all exact')
})

async function hashes(seeds: readonly number[]): Promise<string[]> {
  const all: string[] = []
  for (const seed of seeds) all.push((await simulate(seed, runner)).hash)
  return all
}
