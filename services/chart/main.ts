import '../../src/node/inspector-signal.ts'
import { print } from '../../src/lib/print.ts'
import {
  allowedOrigin,
  listenAddress,
  readArguments,
  runCommand,
  secretFrom,
  serveUntilStopped,
  stderrLogger,
  UsageError,
} from '../common/command.ts'
import { loadLibrary, problemLine } from './library.ts'
import { BUNDLED_CHARTS, createChartService } from './service.ts'
import { countCatalogue } from './totals.ts'

const USAGE = `The bundled chart preview.

  serve --database FILE [--listen HOST:PORT] [--charts DIR] [--allow-origin ORIGIN]...
                                                needs CHART_ADMIN_SECRET in the environment
  check [--charts DIR]                          prints what is wrong with the charts; 1 where one cannot be shown
  catalogue [--charts DIR] CATALOGUE.json       prints the catalogue with the notes that the charts have
`

const TEXT = { type: 'string' } as const
const OPTIONS = {
  listen: { ...TEXT, default: '127.0.0.1:9002' },
  database: TEXT,
  charts: { ...TEXT, default: BUNDLED_CHARTS },
  'allow-origin': { ...TEXT, multiple: true, default: [] as string[] },
  help: { type: 'boolean', default: false },
} as const

export async function main(argv: string[]): Promise<void> {
  const { values, positionals } = readArguments(argv, OPTIONS)
  const [command, file, ...rest] = positionals
  if (values.help) return print(USAGE)
  if (command === 'serve' && file === undefined) return serve(values)
  if (command === 'check' && file === undefined) return check(values.charts)
  if (command === 'catalogue' && file !== undefined && rest.length === 0) return printCatalogue(file, values.charts)
  throw new UsageError('expected serve, check, or catalogue with one file')
}

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values']

async function serve({ listen, database, charts, 'allow-origin': origins }: Values): Promise<void> {
  if (database === undefined) throw new UsageError('--database is missing')
  const address = listenAddress(listen)
  const service = await createChartService({
    database,
    charts,
    adminSecret: secretFrom('CHART_ADMIN_SECRET'),
    allowedOrigins: origins.map(allowedOrigin),
    logger: stderrLogger,
  })
  await serveUntilStopped(service, address, 'chart preview')
}

async function check(folder: string): Promise<void> {
  const { charts, errors, warnings } = await loadLibrary(folder)
  const lines = [...errors.map((each) => problemLine(each)), ...warnings.map((each) => problemLine(each, 'warning'))]
  if (errors.length > 0) process.exitCode = 1
  else if (warnings.length > 0) lines.push(`${charts.length} charts, ${warnings.length} warnings`)
  else lines.push(`${charts.length} charts, no problem`)
  await print(`${lines.join('\n')}\n`)
}

async function printCatalogue(file: string, folder: string): Promise<void> {
  const library = await loadLibrary(folder)
  for (const warning of library.warnings) console.error(problemLine(warning, 'warning'))
  await print(await countCatalogue(file, library))
}

if (import.meta.main) runCommand(USAGE, main)
