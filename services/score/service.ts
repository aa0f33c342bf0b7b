import { onDemand } from '../../src/lib/memo.ts'
import { type CommonOptions, failuresTo, type Service, serviceOver } from '../common/service.ts'
import { loadCatalogue } from '../music/catalogue.ts'
import { type ExternalConfig, readExternal } from './external/config.ts'
import { importFixture } from './fixture.ts'
import { scoreDocument } from './openapi.ts'
import { type AccessRecord, createServer } from './server.ts'
import { openStore } from './store.ts'

export type { ExternalConfig } from './external/config.ts'
export type { AccessRecord } from './server.ts'

/** The default of the most records in one list of scores. */
export const LIST_LIMIT = 20

export interface ScoreServiceOptions extends CommonOptions {
  /** JSON file of the songs. */
  readonly catalogue: string
  /** The secret that the gateway sends in `X-Backend-Secret`; not empty. */
  readonly backendSecret: string
  /**
   * The external platforms: a JSON file, or the parsed content of one; see external/config.ts. Default: none, and
   * update-lx and update-fish respond with capability_missing.
   */
  readonly external?: string | ExternalConfig
  /** Most records in one list of scores, 1 or more. Default 20. */
  readonly listLimit?: number
  /** The most tickets of one kind that a player owns, 1 or more. Default 99. */
  readonly maxStock?: number
  /** Called with the record of each request when its response is ready. */
  readonly onRequest?: (record: AccessRecord) => void
}

export interface ScoreService extends Service {
  /** See fixture.ts. @throws Error on a bad fixture, and then nothing is imported */
  importFixture(source: string | object): Promise<{ users: number }>
}

/**
 * The score backend over one database file.
 * @throws Error on an empty secret, a bad catalogue, a bad configuration of the platforms or a foreign database
 */
export async function createScoreService(options: ScoreServiceOptions): Promise<ScoreService> {
  const { clock = Date.now, listLimit = LIST_LIMIT, maxStock = 99, backendSecret, onRequest, logger } = options
  if (backendSecret === '') throw new Error('the backend secret is empty')
  const catalogue = await loadCatalogue(options.catalogue)
  const external = options.external === undefined ? null : await readExternal(options.external)
  const store = openStore(options.database, options.busyTimeout)
  const document = onDemand(async () => scoreDocument(listLimit))
  const server = createServer({
    backend: { store, catalogue, clock, listLimit, maxStock, external, document },
    backendSecret,
    ...(onRequest === undefined ? {} : { onRequest }),
    onError: failuresTo(logger),
  })
  return {
    ...serviceOver(server, store),
    importFixture: (source) => importFixture(source, store, catalogue, clock()),
  }
}
