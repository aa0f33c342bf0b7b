/**
 * `npm run properties`: the files whose properties have a part of their runs in `npm test`, with all of them. `-- --times 10` tries them
 * ten times as often, `-- history` only those in files whose path has this word. A failure prints its seed.
 *
 * `npm run properties -- --times 10 history`: 10,000 random histories in each store.
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '1' } },
  allowPositionals: true,
})
if (!(Number(values.times) > 0)) {
  console.error(`--times ${values.times}: write a number above 0, as in --times 10`)
  process.exit(2)
}
const texts = globSync('{test,services/test}/**/*.ts').map((file) => ({ file, text: readFileSync(file, 'utf8') }))
const importing = (name) => texts.filter(({ text }) => text.includes(`/${name}'`)).map(({ file }) => file)
// A suite is tried by the files that import it.
const files = importing('runs.ts')
  .flatMap((file) => (file.endsWith('.test.ts') ? file : importing(basename(file))))
  .filter((file) => positionals.every((word) => file.includes(word)))
if (files.length === 0) {
  console.error(`no property is in a file whose path has ${positionals.join(' and ')}`)
  process.exit(2)
}
const env = { ...process.env, TOLLGATE_RUNS: values.times }
// Ten times as often takes ten times as long.
const timeout = String(120_000 * Math.max(1, Number(values.times)))
spawn('vitest', ['run', '--testTimeout', timeout, ...files], { stdio: 'inherit', env }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
