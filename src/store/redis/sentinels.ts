import { accessToSentinel, type ConnectOptions, connect, parseUrl, type RedisClient } from './client.ts'
import { subscription } from './subscription.ts'

/** https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages */
const SWITCHED = '+switch-master'

/**
 * Connects to Redis. Behind sentinels the client leaves a primary as soon as a sentinel says that another one took over. After a manual
 * failover the old primary would take charges for 10 s more, and then forget all of them.
 */
export function connectToPrimary(options: ConnectOptions): RedisClient {
  const redis = connect(options)
  const parsed = parseUrl(options.url)
  if (parsed.kind !== 'sentinel') return redis
  const sentinels = parsed.hosts.map((host) => {
    return subscription(() => connect({ ...accessToSentinel(options, host), deadlineMs: options.deadlineMs }), SWITCHED)
  })
  const leave = (): void => redis.disconnect(true)
  // Each attempt asks the sentinels anew.
  redis.on('connecting', () => redis.off('connect', leave))
  for (const sentinel of sentinels) {
    sentinel.follow((message) => {
      if (message?.split(' ', 1)[0] !== parsed.name) return
      // While ioredis asks a sentinel there is no connection to leave, and `disconnect` of ioredis 6.0 would end it for good.
      // The sentinel may still name the old primary, so the connection is left after it is made.
      if (isAsking(redis)) redis.off('connect', leave).once('connect', leave)
      else leave()
    })
  }
  return redis.once('end', () => {
    for (const sentinel of sentinels) sentinel.close()
  })
}

/** Whether ioredis is asking a sentinel for the address, before the connection is made. */
function isAsking(redis: RedisClient): boolean {
  return redis.status === 'connecting' && !('stream' in redis && redis.stream?.destroyed === false)
}
