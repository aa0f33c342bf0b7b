import { fileURLToPath } from 'node:url'
import { type CommonOptions, failuresTo, type Service, serviceOver } from '../common/service.ts'
import { type ApiKey, type NewApiKey, openKeys } from './keys.ts'
import { type FileProblem, loadLibrary, problemLine } from './library.ts'
import { createServer } from './server.ts'

/** The fictional charts that ship with the product. */
export const BUNDLED_CHARTS = fileURLToPath(new URL('../../config/charts', import.meta.url))

export interface ChartServiceOptions extends CommonOptions {
  /** Folder with `<musicId>/maidata.txt`; read once. */
  readonly charts: string
  /** The secret for managing API keys; not empty. */
  readonly adminSecret: string
  /** Origins whose pages may call the API from a browser. Default: none. */
  readonly allowedOrigins?: readonly string[]
}

export interface ChartService extends Service {
  /** Makes an API key, which is shown this once. @throws DatabaseBusy */
  createKey(name: string): Promise<NewApiKey>
  /** Lists the valid keys, oldest first. @throws DatabaseBusy */
  listKeys(): Promise<ApiKey[]>
  /** The charts that are left out, with the reasons. */
  readonly errors: readonly FileProblem[]
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
    onError: failuresTo(logger),
  })
  return {
    ...serviceOver(server, keys),
    createKey: keys.create,
    listKeys: keys.list,
    errors: library.errors,
  }
}
