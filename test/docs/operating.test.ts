import { describe } from 'vitest'
import { freePort, startRedis } from '../setup/redis.ts'
import { follow, type Scene } from './follow.ts'
import { emptyFolder } from './scenes.ts'

/** An empty folder beside a Redis, which has more time than it has by default: the machine may be busy. */
async function besideRedis(): Promise<Scene> {
  const [scene, redis] = await Promise.all([emptyFolder(), startRedis()])
  const [second, secondAdmin] = await Promise.all([freePort(), freePort()])
  const { ':8080': first = '', ':9090': admin = '', ':9000': service = '' } = scene.instead
  return {
    ...scene,
    instead: {
      '8080': first.slice(1),
      '8081': String(second),
      '9090': admin.slice(1),
      '9091': String(secondAdmin),
      '9000': service.slice(1),
      'redis://127.0.0.1:6379': redis.url,
      'time_zone: Etc/UTC': 'time_zone: Etc/UTC\nstore_options: { deadline: 10s }',
    },
    close: async () => {
      await scene.close()
      await redis.stop()
    },
  }
}

describe('docs/operating.md, in an empty folder beside a Redis', () => follow('docs/operating.md', besideRedis))
