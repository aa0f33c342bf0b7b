#!/usr/bin/env node
import './node/inspector-signal.ts'
import { COMMANDS, HELP, helpOf } from './cli/commands.ts'
import { insistOnNode } from './cli/node-version.ts'
import { UsageError } from './cli/usage-error.ts'
import { messageOf } from './errors.ts'
import { insistOnOutput } from './lib/print.ts'
import { didYouMean } from './lib/suggest.ts'
import { version } from './lib/version.ts'

async function main(name: string, args: readonly string[]): Promise<number> {
  if (name === '--version') return say(version)
  if (name === '--help' || name === '-h' || name === 'help') return say(HELP)
  const command = COMMANDS.get(name)
  if (command === undefined) throw new UsageError(notFound(name, args))
  if (args.includes('--version')) return say(version)
  if (args.includes('--help') || args.includes('-h')) return say(helpOf(name))
  insistOnNode()
  const run = await command.load()
  return run(args)
}

function notFound(name: string, args: readonly string[]): string {
  const command = args.find((arg) => COMMANDS.has(arg))
  if (!name.startsWith('-') || command === undefined) {
    return `unknown command "${name}"${didYouMean(name, COMMANDS.keys())}`
  }
  return `the command comes first, before its options: tollgate ${command} ${name} ...`
}

function say(text: string): number {
  console.log(text)
  return 0
}

async function run(name: string, args: readonly string[]): Promise<number> {
  try {
    if (name !== 'serve') insistOnOutput()
    return await main(name, args)
  } catch (error) {
    const wrongCall =
      error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true
    console.error(`tollgate: ${messageOf(error)}`)
    if (wrongCall) console.error(`See: tollgate ${COMMANDS.has(name) ? `${name} ` : ''}--help`)
    return wrongCall ? 2 : 1
  }
}

const [name = '--help', ...args] = process.argv.slice(2)
// What Node ends with if a command never settles. There is no `await` here, as what is built is CommonJS.
process.exitCode = 13
run(name, args).then((code) => {
  process.exitCode = code
})
