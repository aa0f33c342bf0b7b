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

/**
 * An error that Redis itself replied means that the command was not applied: the script writes nothing before its last
 * check. Anything else leaves the outcome open, unless the command never left this process.
 */
export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Error && error.name === 'ReplyError') {
    return new StoreError(message, REASONS.get(message.split(' ', 1)[0] ?? '') ?? 'other', 'no', error)
  }
  if (message.startsWith("Stream isn't writeable")) return new StoreError('no connection to Redis', 'connection', 'no', error)
  if (message.includes('timed out')) return new StoreError('Redis did not answer in time', 'timeout', 'unknown', error)
  return new StoreError(message, 'connection', 'unknown', error)
}
