import type { TokenRecord } from '../../control/tokens.ts'
import type { RedisClient } from './client.ts'
import type { Keys } from './keys.ts'

/** A gateway token is found by its SHA-256, and that by its id. */
export function writeToken(multi: ReturnType<RedisClient['multi']>, keys: Keys, record: TokenRecord): void {
  multi.hset(keys.tokens, record.hash, JSON.stringify(record)).hset(keys.tokenIds, record.id, record.hash)
}
