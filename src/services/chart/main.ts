import { parseArgs } from 'node:util'
import { parseAddress } from '../common/address.ts'
import { loadLibrary, problemLine } from './library.ts'
import { BUNDLED_CHARTS, createChartService } from './service.ts'
import { countCatalogue } from './totals.ts'

const USAGE = `The bundled chart preview.

  serve --database FILE [--listen HOST:PORT] [--charts DIR] [--allow-origin ORIGIN]...
                                                needs CHART_ADMIN_SECRET in the environment
  check [--charts DIR]                          tells what is wrong with the charts
  catalogue [--charts DIR] CATALOGUE.json       prints the catalogue with the notes that the charts have
`

/** The command line was wrong. */
class UsageError extends Error {}

async function main(argv: string[]): Promise<void> {
  const { values, positionals } = read(argv)
  const [command, file, ...rest] = positionals
  if (values.help) return void process.stdout.write(USAGE)
  if (command === 'serve' && file === undefined) return serve(values)
  if (command === 'check' && file === undefined) return check(values.charts)
  if (command === 'catalogue' && file !== undefined && rest.length === 0) return printCatalogue(file, values.charts)
  throw new UsageError('expected serve, check, or catalogue with one file')
}

type Values = ReturnType<typeof read>['values']

function read(argv: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        listen: { ...text, default: '127.0.0.1:9002' },
        database: text,
        charts: { ...text, default: BUNDLED_CHARTS },
        'allow-origin': { ...text, multiple: true, default: [] },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

async function serve({ listen, database, charts, 'allow-origin': allowedOrigins }: Values): Promise<void> {
  if (database === undefined) throw new UsageError('--database is missing')
  const address = parseAddress(listen)
  if (address === null) throw new UsageError(`--listen ${listen}: expected HOST:PORT`)
  const adminSecret = process.env.CHART_ADMIN_SECRET
  if (!adminSecret) throw new UsageError('CHART_ADMIN_SECRET is not set')
  const service = await createChartService({
    database,
    charts,
    adminSecret,
    allowedOrigins,
    logger: { error: logError },
  })
  const stopped = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  const { url } = await service.listen(address)
  process.stdout.write(`chart preview on ${url}\n`)
  await stopped
  await service.close()
}

async function check(folder: string): Promise<void> {
  const { charts, problems } = await loadLibrary(folder)
  for (const problem of problems) process.stdout.write(`${problemLine(problem)}\n`)
  if (problems.length === 0) process.stdout.write(`${charts.length} charts, no problem\n`)
  else process.exitCode = 1
}

async function printCatalogue(file: string, folder: string): Promise<void> {
  process.stdout.write(await countCatalogue(file, await loadLibrary(folder)))
}

function logError({ err, ...fields }: { err?: Error }, message: string): void {
  process.stderr.write(`${JSON.stringify({ level: 'error', message, ...fields, stack: err?.stack })}\n`)
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : `${error.message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
})
