import { writeFile } from 'node:fs/promises'
import '../../src/node/inspector-signal.ts'
import { print } from '../../src/lib/print.ts'
import {
  listenAddress,
  readArguments,
  runCommand,
  secretFrom,
  serveUntilStopped,
  stderrLogger,
  UsageError,
} from '../common/command.ts'
import { BUNDLED_CATALOGUE, loadCatalogue } from '../music/catalogue.ts'
import { importCatalogue } from '../music/import/catalogue.ts'
import { importFixture } from './fixture.ts'
import { scoreDocument } from './openapi.ts'
import { createScoreService, LIST_LIMIT } from './service.ts'
import { openStore } from './store.ts'

const USAGE = `The bundled score backend.

  serve --listen HOST:PORT --database FILE [--catalogue FILE] [--external FILE]
      needs SCORE_BACKEND_SECRET in the environment; without --external, update-lx and update-fish are left out
  import-fixture --database FILE [--catalogue FILE] FIXTURE.json
  import-catalogue [--all-perfect] [--new-version NAME]... SONGS.json CATALOGUE.json
      writes a catalogue of music_data (Diving-Fish) or song/list?notes=true (LXNS), which you have downloaded;
      --all-perfect: an AP adds 1 to its chart, as since CiRCLE; --new-version: these versions are new, and no others
  openapi
      prints the OpenAPI document
`

const TEXT = { type: 'string' } as const
const OPTIONS = {
  listen: { ...TEXT, default: '127.0.0.1:9000' },
  database: TEXT,
  catalogue: { ...TEXT, default: BUNDLED_CATALOGUE },
  external: TEXT,
  'all-perfect': { type: 'boolean', default: false },
  'new-version': { ...TEXT, multiple: true, default: [] as string[] },
  help: { type: 'boolean', default: false },
} as const

export async function main(argv: string[]): Promise<void> {
  const { values, positionals } = readArguments(argv, OPTIONS)
  const [command, file, ...rest] = positionals
  if (values.help) return print(USAGE)
  if (command === 'openapi' && file === undefined) return printDocument()
  if (command === 'import-catalogue' && file !== undefined && rest.length === 1) {
    return writeCatalogue(file, rest[0] as string, values['all-perfect'], values['new-version'])
  }
  const database = values.database
  if (database === undefined) throw new UsageError('--database is missing')
  if (command === 'serve' && file === undefined) return serve(values, database)
  if (command === 'import-fixture' && file !== undefined && rest.length === 0) {
    return importFile(file, database, values.catalogue)
  }
  throw new UsageError('expected serve, openapi, import-fixture with one file, or import-catalogue with two')
}

interface Serving {
  readonly listen: string
  readonly catalogue: string
  readonly external?: string | undefined
}

async function serve({ listen, catalogue, external }: Serving, database: string): Promise<void> {
  const address = listenAddress(listen)
  const service = await createScoreService({
    database,
    catalogue,
    backendSecret: secretFrom('SCORE_BACKEND_SECRET'),
    ...(external !== undefined && { external }),
    logger: stderrLogger,
  })
  await serveUntilStopped(service, address, 'score backend')
}

async function importFile(file: string, database: string, catalogue: string): Promise<void> {
  const songs = await loadCatalogue(catalogue)
  const store = openStore(database)
  try {
    const { users } = await importFixture(file, store, songs, Date.now())
    await print(`imported ${users} users\n`)
  } finally {
    store.close()
  }
}

async function writeCatalogue(from: string, to: string, isBonus: boolean, newVersions: string[]): Promise<void> {
  const { text, songs, charts } = await importCatalogue(from, { allPerfect: isBonus ? 1 : 0, newVersions })
  await writeFile(to, text)
  await print(`wrote ${songs} songs with ${charts} charts to ${to}\n`)
}

/** Prints the OpenAPI document of the default settings, which config/score/openapi.json holds. */
function printDocument(): Promise<void> {
  return print(`${JSON.stringify(scoreDocument(LIST_LIMIT), null, 2)}\n`)
}

if (import.meta.main) runCommand(USAGE, main)
