import type { Redis } from 'ioredis'
import type { Change } from '../../../src/control/control-store.ts'
import type { Batch, Decision } from '../../../src/quota/charge.ts'
import { NO_RETENTION, type Retention } from '../../../src/quota/history.ts'
import { encodeChange } from '../../../src/store/redis/change-words.ts'
import { encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { decodeReply } from '../../../src/store/redis/charge-reply.ts'
import { CHARGE_LUA, CONTROL_LUA } from '../../../src/store/redis/client.ts'
import type { Keys } from '../../../src/store/redis/keys.ts'
import { StoreClock, withinPeriods } from '../../../src/store/redis/store-clock.ts'

/** The scripts as they are shipped, but for their clock, which the test must hold to reach a boundary to the millisecond. */
export const CHARGE_CLOCKED = CHARGE_LUA.replace("redis.call('TIME')", '{ ARGV[6], ARGV[7] }')
const CONTROL_CLOCKED = CONTROL_LUA.replace("redis.call('TIME')", '{ ARGV[14], ARGV[15] }')
if ([CHARGE_LUA, CONTROL_LUA].includes(CHARGE_CLOCKED) || CONTROL_CLOCKED === CONTROL_LUA) {
  throw new Error('the scripts ask for the time in other words')
}

export interface ClockedScripts {
  settle(batch: Batch, now: number): Promise<readonly Decision[]>
  /** @returns the entry of the audit */
  change(change: Change, now: number): Promise<{ readonly from: Record<string, number> }>
}

/**
 * The store's scripts with the clock of the test.
 * @param lua the script that settles a batch. Default: the one of the store
 */
export function clockedScripts(
  redis: Redis,
  keys: Keys,
  retention: Retention = NO_RETENTION,
  lua = CHARGE_CLOCKED,
): ClockedScripts {
  redis.defineCommand('settle', { lua })
  const settle = (redis as unknown as { settleBuffer(count: number, ...rest: (string | number)[]): Promise<unknown> })
    .settleBuffer
  const secondsAndMicros = (now: number): number[] => [Math.floor(now / 1000), (now % 1000) * 1000]
  const clock = new StoreClock()
  return {
    settle: (batch, now) =>
      withinPeriods(clock, async (about) => {
        const sent = encodeBatch(batch, keys, about, retention)
        const args = [batch.sequence, 3_600_000, sent.json, sent.charges, 0, ...secondsAndMicros(now)]
        return decodeReply(await settle.call(redis, sent.keys.length, ...sent.keys, ...args), batch, sent)
      }),
    change: (change, now) =>
      withinPeriods(clock, async (about) => {
        const author = { who: 'ann', why: null }
        const { names, args } = encodeChange(change, author, null, keys, undefined, about, retention)
        const all = [...names, ...args, ...secondsAndMicros(now)]
        const reply = (await redis.eval(CONTROL_CLOCKED, names.length, ...all)) as [string, number]
        return JSON.parse(reply[0])
      }),
  }
}
