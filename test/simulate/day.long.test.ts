import { expect, it } from 'vitest'
import { startScriptRunner } from './real-redis.ts'
import { simulate } from './simulation.ts'

/** `npm run simulate -- --day --count 10` tries more of them. */
const SEED = 2

it('a day of three gateways with faults ends with history, series, counters and what was forwarded the same to the token', async () => {
  const runner = await startScriptRunner()
  try {
    const { failure, trace, count } = await simulate(SEED, runner, true)
    if (failure !== null) throw new Error(`${failure.message}\n${trace.slice(-200).join('\n')}`)
    expect(count.archived).toBeGreaterThan(100)
    expect(count.tokens).toBeGreaterThan(1000)
    expect(count.repeatedFlushes).toBeGreaterThan(0)
  } finally {
    await runner.close()
  }
}, 600_000)
