import type { Address } from './address.ts'
import type { Http } from './server.ts'

/** What each bundled service takes beside its own options. */
export interface CommonOptions {
  /** SQLite file; made if it is missing. */
  readonly database: string
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly clock?: () => number
  /** How long a request waits for another process that holds the database, in milliseconds. Default 5000. */
  readonly busyTimeout?: number
  /** Where failures that lead to a 500 are reported, and what is odd but no failure. Default: nowhere. */
  readonly logger?: { error(fields: object, message: string): void; warn?(fields: object, message: string): void }
}

export interface Service {
  /** Port 0 picks a free one. @throws Error if the address cannot be bound */
  listen(address: Address): Promise<{ url: string }>
  /** Finishes running requests, then closes the database. */
  close(): Promise<void>
}

export function serviceOver(server: Http, database: { close(): void }): Service {
  return {
    listen: (address) => server.listen(address),
    async close() {
      await server.close()
      database.close()
    },
  }
}

/** Makes a function that reports an error which led to a 500. */
export function failuresTo(logger: CommonOptions['logger']): (error: unknown) => void {
  return (error) => logger?.error({ err: error }, 'a request failed')
}
