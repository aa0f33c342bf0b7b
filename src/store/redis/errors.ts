import { StoreError, type StoreFailure } from '../../quota/store.ts'

/** First word of a Redis error to our reason. https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const REASONS: ReadonlyMap<string, StoreFailure> = new Map([
  ['READONLY', 'readonly'],
  ['OOM', 'out_of_memory'],
  ['LOADING', 'loading'],
  ['BUSY', 'busy'],
  ['NOAUTH', 'auth'],
  ['WRONGPASS', 'auth'],
  ['NOPERM', 'auth'],
  ['CLUSTERDOWN', 'cluster'],
  ['MOVED', 'cluster'],
  ['ASK', 'cluster'],
  ['TRYAGAIN', 'cluster'],
  ['CROSSSLOT', 'cluster'],
])

/** What ioredis says of a command that it never sent: no connection, or no cluster, and no queue to wait in. */
const NOT_SENT = 'enableOfflineQueue options is false'

/**
 * An error that Redis itself replied means that the command was not applied: the script writes nothing before its last
 * check. Anything else leaves the outcome open, unless the command never left this process.
 */
export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && error.name === 'ReplyError') {
    return new StoreError(message, reasonOf(error), 'no', error)
  }
  if (message.includes(NOT_SENT)) return new StoreError('no connection to Redis', 'connection', 'no', error)
  if (error instanceof Error && error.name === 'MaxRetriesPerRequestError') {
    return new StoreError('the connection to Redis was lost', 'connection', 'unknown', error)
  }
  if (message.includes('timed out')) return new StoreError('Redis did not answer in time', 'timeout', 'unknown', error)
  return new StoreError(message, 'connection', 'unknown', error)
}

/** A transaction that was given up says EXECABORT, and its reason in `previousErrors`; Redis 6 says `ERR` and puts the word of a script's error behind a `-`. */
function reasonOf(error: Error & { readonly previousErrors?: readonly Error[] }): StoreFailure {
  const { message } = error.previousErrors?.[0] ?? error
  const word = /^ERR Error running script.*? -([A-Z]+) /.exec(message)?.[1] ?? message.split(' ', 1)[0] ?? ''
  return REASONS.get(word) ?? 'other'
}
