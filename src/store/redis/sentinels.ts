import { accessToSentinel, type ConnectOptions, connect, parseUrl, type RedisClient } from './client.ts'
import { subscription } from './subscription.ts'

/** https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/#pubsub-messages */
const SWITCHED = '+switch-master'

/**
 * Connects, and behind sentinels leaves a primary as soon as one of them says that another took its place. In a failover that was
 * asked for, the old primary takes charges for 10 s more, until it is demoted. It then forgets them all.
 */
export function connectToPrimary(options: ConnectOptions): RedisClient {
  const redis = connect(options)
  const parsed = parseUrl(options.url)
  if (parsed.kind !== 'sentinel') return redis
  const sentinels = parsed.hosts.map((host) => {
    return subscription(() => connect({ ...accessToSentinel(options, host), deadlineMs: options.deadlineMs }), SWITCHED)
  })
  const leave = (): void => redis.disconnect(true)
  // Each attempt asks anew.
  redis.on('connecting', () => redis.off('connect', leave))
  for (const sentinel of sentinels) {
    sentinel.follow((message) => {
      if (message?.split(' ', 1)[0] !== parsed.name) return
      // While it asks a sentinel it has nothing to leave yet, and ioredis 6.0 would end for good; the sentinel may name the old one.
      if (isAsking(redis)) redis.off('connect', leave).once('connect', leave)
      else leave()
    })
  }
  return redis.once('end', () => {
    for (const sentinel of sentinels) sentinel.close()
  })
}

/** Whether a sentinel is naming the address, and no connection is being made yet. */
function isAsking(redis: RedisClient): boolean {
  return redis.status === 'connecting' && !('stream' in redis && redis.stream?.destroyed === false)
}
