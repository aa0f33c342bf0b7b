#!/usr/bin/env node
import './node/inspector-signal.ts'
import { run } from './cli/run.ts'
import { insistOnOutput } from './lib/print.ts'

const [name = '--help', ...args] = process.argv.slice(2)
if (name !== 'serve') insistOnOutput()
// Node ends with this code if a command never settles. The build is CommonJS, so there is no `await` here.
process.exitCode = 13
run(name, args).then((code) => {
  process.exitCode = code
})
