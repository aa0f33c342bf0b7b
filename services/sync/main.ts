import '../../src/node/inspector-signal.ts'
import { print } from '../../src/lib/print.ts'
import {
  allowedOrigin,
  listenAddress,
  readArguments,
  runCommand,
  serveUntilStopped,
  stderrLogger,
  UsageError,
} from '../common/command.ts'
import { BUNDLED_CATALOGUE } from '../music/catalogue.ts'
import { createSyncService } from './service.ts'

const USAGE = `The bundled network score-sync service.

  serve --database FILE [--listen HOST:PORT] [--catalogue FILE] [--allow-origin ORIGIN]... [--snapshot-idle MINUTES]

  needs SYNC_BOT_TOKENS in the environment: the tokens that clients may show, separated by commas

  --listen         default 127.0.0.1:9001
  --allow-origin   a page that may call the service from a browser, for example http://127.0.0.1:8080
  --snapshot-idle  a snapshot without a chunk for so long is given up; default 30
`

const TEXT = { type: 'string' } as const
const OPTIONS = {
  listen: { ...TEXT, default: '127.0.0.1:9001' },
  database: TEXT,
  catalogue: { ...TEXT, default: BUNDLED_CATALOGUE },
  'allow-origin': { ...TEXT, multiple: true, default: [] as string[] },
  'snapshot-idle': { ...TEXT, default: '30' },
  help: { type: 'boolean', default: false },
} as const

export async function main(argv: string[]): Promise<void> {
  const { values, positionals } = readArguments(argv, OPTIONS)
  if (values.help) return print(USAGE)
  if (positionals.length !== 1 || positionals[0] !== 'serve') throw new UsageError('expected serve')
  const { database, catalogue, listen } = values
  if (database === undefined) throw new UsageError('--database is missing')
  const address = listenAddress(listen)
  const service = await createSyncService({
    database,
    catalogue,
    botTokens: tokensOf(process.env.SYNC_BOT_TOKENS ?? ''),
    allowedOrigins: values['allow-origin'].map(allowedOrigin),
    snapshotIdleMs: minutesOf(values['snapshot-idle']) * 60_000,
    logger: stderrLogger,
  })
  await serveUntilStopped(service, address, 'network score-sync')
}

function tokensOf(text: string): string[] {
  const tokens = text.split(',').map((token) => token.trim())
  if (tokens.includes('')) throw new UsageError('SYNC_BOT_TOKENS is not set, or holds an empty token')
  return tokens
}

function minutesOf(text: string): number {
  const minutes = Number(text)
  if (/^\d{1,6}$/.test(text) && minutes > 0) return minutes
  throw new UsageError(`--snapshot-idle ${text}: expected a number of minutes, 1 or more`)
}

if (import.meta.main) runCommand(USAGE, main)
