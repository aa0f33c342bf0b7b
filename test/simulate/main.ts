import { parseArgs } from 'node:util'
import { startScriptRunner } from './real-redis.ts'
import { type Outcome, simulate } from './simulation.ts'

/**
 * npm run simulate                         10,000 seeds from 1 up
 * npm run simulate -- --count 500 --from 1
 * npm run simulate -- --seed 4711          one seed, with all that happens in it
 * npm run simulate -- --day --count 1      a day instead of some seconds
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    day: { type: 'boolean', default: false },
  },
})

const one = values.seed !== undefined
const from = Number(values.seed ?? values.from)
const count = one ? 1 : Number(values.count)
const sum: Record<string, number> = {}
const startedAt = performance.now()
const runner = await startScriptRunner()
let seed = from

// An error that nobody catches is a failure of the seed, too.
process.on('uncaughtException', (error) => {
  console.error(`seed ${seed}: uncaught ${error.stack}\n${commandFor(seed)}`)
  void leave(1)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void leave(1))

for (; seed < from + count; seed++) {
  const outcome = await simulate(seed, runner, values.day)
  if (one) console.log(`${outcome.trace.join('\n')}\ntrace ${outcome.hash}`)
  if (outcome.failure !== null) {
    if (!one) console.error(outcome.trace.join('\n'))
    console.error(`seed ${seed} failed: ${outcome.failure.stack}\n${commandFor(seed)}`)
    process.exitCode = 1
    break
  }
  add(outcome)
  const done = seed - from + 1
  if (done % 1000 === 0) console.log(`${done} seeds, ${seconds()} s`)
}
await runner.close()
if (process.exitCode === undefined) console.log(`${count} ${count === 1 ? 'seed' : 'seeds'}, all exact: ${summary()}`)

async function leave(code: number): Promise<void> {
  await runner.close()
  process.exit(code)
}

function add({ count }: Outcome): void {
  for (const [name, n] of Object.entries(count)) sum[name] = (sum[name] ?? 0) + n
}

function summary(): string {
  const parts = Object.entries(sum).map(([name, n]) => `${n} ${name}`)
  return `${parts.join(', ')}; ${seconds()} s`
}

function seconds(): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1)
}

function commandFor(seed: number): string {
  return `Again: npm run simulate -- ${values.day ? '--day ' : ''}--seed ${seed}`
}
