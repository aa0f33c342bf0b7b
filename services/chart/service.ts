import { fileURLToPath } from 'node:url'
import { type ApiKey, type NewApiKey, openKeys } from './keys.ts'
import { type FileProblem, loadLibrary, problemLine } from './library.ts'
import { createServer } from './server.ts'

/** The fictional charts that ship with the product. */
export const BUNDLED_CHARTS = fileURLToPath(new URL('../../config/charts', import.meta.url))

export interface ChartServiceOptions {
  /** SQLite file of the API keys; made if it is missing. */
  readonly database: string
  /** Folder with `<musicId>/maidata.txt`; read once. */
  readonly charts: string
  /** What manages API keys; not empty. */
  readonly adminSecret: string
  /** Origins whose pages may call the API from a browser. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly clock?: () => number
  /** How long a request waits for another process that holds the database, in milliseconds. Default 5000. */
  readonly busyTimeout?: number
  /** Where charts that are left out, oddities of others and failures that become a 500 are reported. Default: nowhere. */
  readonly logger?: { error(fields: object, message: string): void; warn?(fields: object, message: string): void }
}

export interface ChartService {
  /** Port 0 picks a free one. @throws Error if the address cannot be bound */
  listen(address: { host: string; port: number }): Promise<{ url: string }>
  /** Makes an API key, which is shown this once. @throws DatabaseBusy */
  createKey(name: string): Promise<NewApiKey>
  /** Those in force, oldest first. @throws DatabaseBusy */
  listKeys(): Promise<ApiKey[]>
  /** Charts that are left out, and why. */
  readonly errors: readonly FileProblem[]
  /** Finishes running requests, then closes the database. */
  close(): Promise<void>
}

/** The chart preview. @throws Error on an empty secret, a folder that cannot be read or a foreign database */
export async function createChartService(options: ChartServiceOptions): Promise<ChartService> {
  const { adminSecret, allowedOrigins = [], clock = Date.now, logger } = options
  if (adminSecret === '') throw new Error('the administrator secret is empty')
  const library = await loadLibrary(options.charts)
  for (const error of library.errors) logger?.error({ ...error }, `a chart is left out: ${problemLine(error)}`)
  for (const warning of library.warnings) logger?.warn?.({ ...warning }, problemLine(warning, 'warning'))
  const keys = openKeys(options.database, clock, options.busyTimeout)
  const server = createServer({
    desk: { library, keys },
    adminSecret,
    allowedOrigins,
    onError: (error) => logger?.error({ err: error }, 'a request failed'),
  })
  return {
    listen: (address) => server.listen(address),
    createKey: keys.create,
    listKeys: keys.list,
    errors: library.errors,
    async close() {
      await server.close()
      keys.close()
    },
  }
}
