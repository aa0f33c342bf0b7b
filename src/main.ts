#!/usr/bin/env node
import './node/inspector-signal.ts'
import { HELP, helpOf, UsageError } from './cli/help.ts'
import { insistOnNode } from './cli/node-version.ts'
import { messageOf } from './errors.ts'
import { insistOnOutput } from './lib/print.ts'
import { didYouMean } from './lib/suggest.ts'
import { version } from './lib/version.ts'

/** A command takes its own arguments and gives the exit code: 0 done, 1 not done, 2 wrongly called. */
type Command = (args: readonly string[]) => Promise<number>

/** Each is loaded when it is called: a health check runs every few seconds, in the memory that the gateway was given. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['serve', async () => (await import('./cli/serve.ts')).serve],
  ['try', async () => (await import('./cli/try.ts')).tryOut],
  ['check', async () => (await import('./cli/check.ts')).check],
  ['token', async () => (await import('./cli/token.ts')).token],
  ['explain', async () => (await import('./cli/explain.ts')).explainRequest],
  ['replay', async () => (await import('./cli/replay.ts')).replayLogs],
  ['suggest', async () => (await import('./cli/suggest.ts')).suggest],
  ['overrides', async () => (await import('./cli/overrides.ts')).overrides],
  ['usage', async () => (await import('./cli/usage.ts')).usage],
  ['user', async () => (await import('./cli/user.ts')).user],
  ['store', async () => (await import('./cli/store.ts')).store],
  ['schema', async () => (await import('./cli/schema.ts')).schema],
  ['drain', async () => (await import('./cli/drain.ts')).drain],
  ['healthcheck', async () => (await import('./cli/healthcheck.ts')).healthcheck],
])

async function main(name: string, args: readonly string[]): Promise<number> {
  if (name === '--version') return say(version)
  if (name === '--help' || name === '-h' || name === 'help') return say(HELP)
  const load = COMMANDS.get(name)
  if (load === undefined) throw new UsageError(notFound(name, args))
  if (args.includes('--version')) return say(version)
  if (args.includes('--help') || args.includes('-h')) return say(helpOf(name))
  insistOnNode()
  const command = await load()
  return command(args)
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
