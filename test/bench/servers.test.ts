import { get } from 'node:http'
import { expect, it } from 'vitest'
import { createStage, type Running } from '../../bench/servers.ts'
import { atEnd, tempFolder } from '../setup/at-end.ts'

/** The status of a request on a connection of its own. */
function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ port, path, agent: false }, (response) => resolve(response.resume().statusCode)).once('error', reject)
  })
}

it('a new configuration has been taken by every worker when the benchmark goes on', async () => {
  const stage = createStage(tempFolder())
  atEnd(() => stage.stop())
  // Nobody listens there, and nobody has to.
  const upstream = { port: 1 } as Running
  const rules = Array.from({ length: 3000 }, (_, i) => ({ match: `GET /thing-${i}/:id`, category: 'read', cost: 1 }))
  const change = (path: string) => ({ workers: 2, routes: [{ match: `GET ${path}`, public: true }, ...rules] })
  const gateway = await stage.gateway({ upstream, store: await stage.redis(), log: false, change: change('/old') })
  await gateway.reconfigure(change('/new'))
  const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(gateway.port, '/new')))
  expect(new Set(statuses)).toEqual(new Set([502]))
})
