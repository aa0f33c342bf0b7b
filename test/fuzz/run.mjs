/** `npm run fuzz -- --minutes 10 --seed 7`: the fuzzers of test/fuzz for as long as wanted. A failure prints its seed. */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } } })
const env = { ...process.env, TOLLGATE_FUZZ_MINUTES: values.minutes }
if (values.seed !== undefined) env.TOLLGATE_FUZZ_SEED = values.seed
// One file after the other, so that each has its share of the time.
spawn('vitest', ['run', '--no-file-parallelism', 'test/fuzz'], { stdio: 'inherit', env }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
