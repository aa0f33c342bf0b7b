import { parseArgs } from 'node:util'
import { parseAddress } from '../common/address.ts'
import { loadCatalogue } from '../music/catalogue.ts'
import { importFixture } from './fixture.ts'
import { scoreDocument } from './openapi.ts'
import { BUNDLED_CATALOGUE, createScoreService, LIST_LIMIT } from './service.ts'
import { openStore } from './store.ts'

const USAGE = `The bundled score backend.

  serve --listen HOST:PORT --database FILE [--catalogue FILE] [--external FILE]
      needs SCORE_BACKEND_SECRET in the environment; without --external, update-lx and update-fish are left out
  import-fixture --database FILE [--catalogue FILE] FIXTURE.json
  openapi
      prints the OpenAPI document
`

/** The command line was wrong. */
class UsageError extends Error {}

async function main(argv: string[]): Promise<void> {
  const { values, positionals } = read(argv)
  const [command, file, ...rest] = positionals
  if (values.help) return void process.stdout.write(USAGE)
  if (command === 'openapi' && file === undefined) return printDocument()
  const database = values.database
  if (database === undefined) throw new UsageError('--database is missing')
  if (command === 'serve' && file === undefined) return serve(values, database)
  if (command === 'import-fixture' && file !== undefined && rest.length === 0) {
    return importFile(file, database, values.catalogue)
  }
  throw new UsageError('expected serve, openapi, or import-fixture with one file')
}

function read(argv: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        listen: { ...text, default: '127.0.0.1:9000' },
        database: text,
        catalogue: { ...text, default: BUNDLED_CATALOGUE },
        external: text,
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

interface Serving {
  readonly listen: string
  readonly catalogue: string
  readonly external?: string | undefined
}

async function serve({ listen, catalogue, external }: Serving, database: string): Promise<void> {
  const address = parseAddress(listen)
  if (address === null) throw new UsageError(`--listen ${listen}: expected HOST:PORT`)
  const backendSecret = process.env.SCORE_BACKEND_SECRET
  if (!backendSecret) throw new UsageError('SCORE_BACKEND_SECRET is not set')
  const service = await createScoreService({
    database,
    catalogue,
    backendSecret,
    ...(external !== undefined && { external }),
    logger: { error: logError },
  })
  const stopped = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  const { url } = await service.listen(address)
  process.stdout.write(`score backend on ${url}\n`)
  await stopped
  await service.close()
}

async function importFile(file: string, database: string, catalogue: string): Promise<void> {
  const songs = await loadCatalogue(catalogue)
  const store = openStore(database)
  try {
    const { users } = await importFixture(file, store, songs, Date.now())
    process.stdout.write(`imported ${users} users\n`)
  } finally {
    store.close()
  }
}

/** As it is with the default settings; kept in config/score/openapi.json. */
function printDocument(): void {
  process.stdout.write(`${JSON.stringify(scoreDocument(LIST_LIMIT), null, 2)}\n`)
}

function logError(fields: object, message: string): void {
  const err = (fields as { err?: Error }).err
  process.stderr.write(`${JSON.stringify({ level: 'error', message, stack: err?.stack })}\n`)
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : `${error.message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
})
