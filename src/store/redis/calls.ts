import { StoreError } from '../../quota/quota-store.ts'
import type { RedisClient, ScriptName } from './client.ts'
import { asStoreError, isOfAnotherType, wasNeverSent } from './store-errors.ts'

/**
 * @param otherwise the result if the key holds another type than ours. By default this is an error, as it is for every write
 * @throws StoreError
 */
export async function call<T>(command: () => Promise<T>, otherwise?: () => T): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (otherwise !== undefined && isOfAnotherType(error)) return otherwise()
    throw asStoreError(error)
  }
}

/**
 * The same for looking a record up. A key of another type is read as a text that no parser accepts, so that it is reported
 * like an unreadable record.
 */
export async function lookedUp(command: () => Promise<string | null>): Promise<string | null> {
  return call(command, () => UNREADABLE)
}

/** No record of ours contains this byte. */
export const UNREADABLE = '\0'

/**
 * Returns a function that asks whether Redis is there. Without a connection, its error says why the last attempt failed.
 * @param key any of ours. In a cluster its node decides, because a PING may go to another one
 */
export function pinging(redis: RedisClient, key: string): () => Promise<void> {
  let met: unknown = null
  redis.on('error', (error: unknown) => {
    if (!wasNeverSent(error)) met = error
  })
  return async () => {
    try {
      await (redis.isCluster ? redis.get(key) : redis.ping())
    } catch (error) {
      const failure = asStoreError(error)
      if (met === null || !wasNeverSent(error)) throw failure
      throw new StoreError(`${failure.message}: ${asStoreError(met).message}`, failure.reason, failure.applied, met)
    }
  }
}

/** Runs a script of ours. @throws StoreError */
export function run<T>(
  redis: RedisClient,
  script: ScriptName,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<T> {
  return call(() => redis[script](keys.length, ...keys, ...args) as Promise<T>)
}

export type Commands = ReturnType<RedisClient['multi']>

/** Runs commands as one transaction and returns their replies in order. @throws StoreError */
export async function transaction<T>(redis: RedisClient, fill: (commands: Commands) => void): Promise<T> {
  return repliesTo(redis.multi(), fill)
}

/**
 * Runs commands that only read, one after the other. Others may write in between. They are no transaction, because a Redis
 * without free memory refuses every transaction. In a cluster they are one, because it can follow its keys to another node
 * as a whole.
 * @param otherwise what is read for the command at a place, from 0, if its key holds another type than ours. By default
 * this is an error
 */
export async function reading<T>(
  redis: RedisClient,
  fill: (commands: Commands) => void,
  otherwise?: (place: number) => unknown,
): Promise<T> {
  return repliesTo(redis.isCluster ? redis.multi() : redis.pipeline(), fill, otherwise)
}

export async function timeOf(redis: RedisClient): Promise<number> {
  return (await readingAt(redis, () => {}))[0]
}

/** As `reading`, with the time of Redis before the replies, in milliseconds since the epoch. */
export async function readingAt<T extends readonly unknown[]>(
  redis: RedisClient,
  fill: (commands: Commands) => void,
  otherwise?: (place: number) => unknown,
): Promise<[at: number, ...replies: T]> {
  const [time, ...replies] = await reading<[[string, string], ...T]>(
    redis,
    (commands) => fill(commands.time()),
    otherwise && ((place) => otherwise(place - 1)),
  )
  return [milliseconds(time), ...replies]
}

async function repliesTo<T>(
  commands: Commands,
  fill: (commands: Commands) => void,
  otherwise?: (place: number) => unknown,
): Promise<T> {
  fill(commands)
  const replies = await call(() => commands.exec())
  if (replies === null) throw new StoreError('Redis gave the transaction up', 'other', 'no')
  return replies.map(([error, value], place) => {
    if (error === null) return value
    if (otherwise !== undefined && isOfAnotherType(error)) return otherwise(place)
    throw asStoreError(error)
  }) as T
}

/** The pairs in a reply of HSCAN, or of a sorted set with its scores. */
export function pairsOf(flat: readonly string[]): [string, string][] {
  return Array.from({ length: Math.floor(flat.length / 2) }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? ''])
}

/** A reply of TIME, in milliseconds since the epoch. */
export function milliseconds([seconds, micros]: readonly [string | number, string | number]): number {
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
}
