import { parseArgs } from 'node:util'
import { parseAddress } from '../common/address.ts'
import { BUNDLED_CATALOGUE, createSyncService } from './service.ts'

const USAGE = `The bundled network score-sync service.

  serve --database FILE [--listen HOST:PORT] [--catalogue FILE] [--allow-origin ORIGIN]... [--snapshot-idle MINUTES]

  needs SYNC_BOT_TOKENS in the environment: the tokens that clients may show, separated by commas

  --listen         default 127.0.0.1:9001
  --allow-origin   a page that may call the service from a browser, for example http://127.0.0.1:8080
  --snapshot-idle  a snapshot without a chunk for so long is given up; default 30
`

/** The command line was wrong. */
class UsageError extends Error {}

async function main(argv: string[]): Promise<void> {
  const { values, positionals } = read(argv)
  if (values.help) return void process.stdout.write(USAGE)
  if (positionals.length !== 1 || positionals[0] !== 'serve') throw new UsageError('expected serve')
  const { database, catalogue, listen } = values
  if (database === undefined) throw new UsageError('--database is missing')
  const address = parseAddress(listen)
  if (address === null) throw new UsageError(`--listen ${listen}: expected HOST:PORT`)
  const service = await createSyncService({
    database,
    catalogue,
    botTokens: tokensOf(process.env.SYNC_BOT_TOKENS ?? ''),
    allowedOrigins: values['allow-origin'].map(originOf),
    snapshotIdleMs: minutesOf(values['snapshot-idle']) * 60_000,
    logger: { error: logError },
  })
  const stopped = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  const { url } = await service.listen(address)
  process.stdout.write(`network score-sync on ${url}\n`)
  await stopped
  await service.close()
}

function read(argv: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        listen: { ...text, default: '127.0.0.1:9001' },
        database: text,
        catalogue: { ...text, default: BUNDLED_CATALOGUE },
        'allow-origin': { ...text, multiple: true, default: [] },
        'snapshot-idle': { ...text, default: '30' },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

function tokensOf(text: string): string[] {
  const tokens = text.split(',').map((token) => token.trim())
  if (tokens.includes('')) throw new UsageError('SYNC_BOT_TOKENS is not set, or holds an empty token')
  return tokens
}

/** As browsers send it: scheme, host and port, and nothing behind. */
function originOf(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text
  throw new UsageError(`--allow-origin ${text}: expected an origin such as http://127.0.0.1:8080`)
}

function minutesOf(text: string): number {
  const minutes = Number(text)
  if (/^\d{1,6}$/.test(text) && minutes > 0) return minutes
  throw new UsageError(`--snapshot-idle ${text}: expected a number of minutes, 1 or more`)
}

function logError(fields: object, message: string): void {
  const err = (fields as { err?: Error }).err
  process.stderr.write(`${JSON.stringify({ level: 'error', message, stack: err?.stack })}\n`)
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : `${error.message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
})
