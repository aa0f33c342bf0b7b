import { type CommonOptions, failuresTo, type Service, serviceOver } from '../common/service.ts'
import { loadCatalogue } from '../music/catalogue.ts'
import { createServer } from './server.ts'
import { openStore } from './store.ts'

export interface SyncServiceOptions extends CommonOptions {
  /** JSON file of the songs. */
  readonly catalogue: string
  /** The tokens that clients send in `Bot-Token`: one or more, none of them empty. */
  readonly botTokens: readonly string[]
  /** Origins whose pages may call the service from a browser, for example `http://127.0.0.1:8080`. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /** After so many milliseconds without a chunk an open snapshot is given up. Default: 30 minutes. */
  readonly snapshotIdleMs?: number
}

const IDLE_MS = 30 * 60 * 1000

/** Network score-sync over one database file. @throws Error without a token, on a bad catalogue or a foreign database */
export async function createSyncService(options: SyncServiceOptions): Promise<Service> {
  const { botTokens, allowedOrigins = [], clock = Date.now, snapshotIdleMs = IDLE_MS, logger } = options
  if (botTokens.length === 0 || botTokens.includes('')) throw new Error('there is no bot token, or an empty one')
  const catalogue = await loadCatalogue(options.catalogue)
  const store = openStore(options.database, options.busyTimeout)
  const server = createServer({
    backend: { store, catalogue, clock, snapshotIdleMs, uploading: new Set() },
    botTokens,
    allowedOrigins,
    onError: failuresTo(logger),
  })
  return serviceOver(server, store)
}
