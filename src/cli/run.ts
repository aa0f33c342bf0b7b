import { messageOf } from '../errors.ts'
import { didYouMean } from '../lib/suggest.ts'
import { version } from '../lib/version.ts'
import { COMMANDS, HELP, helpOf } from './commands.ts'
import { insistOnNode } from './node-version.ts'
import { UsageError } from './usage-error.ts'

/** Runs a command with its arguments. @returns the exit code; errors are on standard error */
export async function run(name: string, args: readonly string[]): Promise<number> {
  try {
    return await runOrThrow(name, args)
  } catch (error) {
    const wrongCall =
      error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true
    console.error(`tollgate: ${messageOf(error)}`)
    if (wrongCall) console.error(`See: tollgate ${COMMANDS.has(name) ? `${name} ` : ''}--help`)
    return wrongCall ? 2 : 1
  }
}

async function runOrThrow(name: string, args: readonly string[]): Promise<number> {
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
