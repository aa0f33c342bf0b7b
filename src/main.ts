#!/usr/bin/env node
import './node/inspector-signal.ts'
import { run } from './cli/run.ts'
import { insistOnOutput } from './lib/print.ts'

const [name = '--help', ...args] = process.argv.slice(2)
if (name !== 'serve') insistOnOutput()
// What Node ends with if a command never settles. There is no `await` here, as what is built is CommonJS.
process.exitCode = 13
run(name, args).then((code) => {
  process.exitCode = code
})
