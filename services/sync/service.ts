import { loadCatalogue } from '../music/catalogue.ts'
import { createServer } from './server.ts'
import { openStore } from './store.ts'

export interface SyncServiceOptions {
  /** SQLite file; made if it is missing. */
  readonly database: string
  /** JSON file of the songs. */
  readonly catalogue: string
  /** What clients show in `Bot-Token`: one or more, none of them empty. */
  readonly botTokens: readonly string[]
  /** Origins whose pages may call the service from a browser, for example `http://127.0.0.1:8080`. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly clock?: () => number
  /** An open snapshot without a chunk for longer is given up; milliseconds. Default 30 minutes. */
  readonly snapshotIdleMs?: number
  /** How long a request waits for another process that holds the database, in milliseconds. Default 5000. */
  readonly busyTimeout?: number
  /** Where failures that become a 500 are reported. Default: nowhere. */
  readonly logger?: { error(fields: object, message: string): void }
}

export interface SyncService {
  /** Port 0 picks a free one. @throws Error if the address cannot be bound */
  listen(address: { host: string; port: number }): Promise<{ url: string }>
  /** Finishes running requests, then closes the database. */
  close(): Promise<void>
}

const IDLE_MS = 30 * 60 * 1000

/** Network score-sync over one database file. @throws Error without a token, on a bad catalogue or a foreign database */
export async function createSyncService(options: SyncServiceOptions): Promise<SyncService> {
  const { botTokens, allowedOrigins = [], clock = Date.now, snapshotIdleMs = IDLE_MS, logger } = options
  if (botTokens.length === 0 || botTokens.includes('')) throw new Error('there is no bot token, or an empty one')
  const catalogue = await loadCatalogue(options.catalogue)
  const store = openStore(options.database, options.busyTimeout)
  const server = createServer({
    backend: { store, catalogue, clock, snapshotIdleMs, uploading: new Set() },
    botTokens,
    allowedOrigins,
    onError: (error) => logger?.error({ err: error }, 'a request failed'),
  })
  return {
    listen: (address) => server.listen(address),
    async close() {
      await server.close()
      store.close()
    },
  }
}
