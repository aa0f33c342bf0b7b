#!/usr/bin/env node
import { check } from './cli/check.ts'
import { explainRequest } from './cli/explain.ts'
import { HELP, helpOf, UsageError } from './cli/help.ts'
import { schema } from './cli/schema.ts'
import { serve } from './cli/serve.ts'
import { token } from './cli/token.ts'
import { version } from './version.ts'

/** A command takes its own arguments and gives the exit code: 0 done, 1 not done, 2 wrongly called. */
type Command = (args: readonly string[]) => Promise<number>

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['serve', serve],
  ['check', check],
  ['token', token],
  ['explain', explainRequest],
  ['schema', schema],
])

async function main([name = '--help', ...args]: readonly string[]): Promise<number> {
  if (name === '--version') return say(version)
  if (name === '--help' || name === '-h' || name === 'help') return say(HELP)
  const command = COMMANDS.get(name)
  if (command === undefined) throw new UsageError(`unknown command "${name}"`)
  if (args.includes('--help') || args.includes('-h')) return say(helpOf(name))
  return command(args)
}

function say(text: string): number {
  console.log(text)
  return 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const wrongCall =
    error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true
  console.error(`tollgate: ${error instanceof Error ? error.message : String(error)}`)
  if (wrongCall) console.error('See: tollgate --help')
  process.exitCode = wrongCall ? 2 : 1
}
