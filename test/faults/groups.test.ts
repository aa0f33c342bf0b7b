import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect } from 'vitest'
import { fault } from './catalogue.ts'
import { expectNothingCameLater, type Fault, runRow, startWorld, type World } from './matrix.ts'
import { type Cluster, startCluster, startWatched, type Watched } from './redis-groups.ts'

/** More than one Redis: a primary with its replica under three sentinels, and a cluster of three primaries. */

const OUT = /the store is out: charges are decided without it/

describe('behind three sentinels', () => {
  let watched: Watched
  let world: World
  beforeAll(async () => {
    watched = await startWatched()
    world = await startWorld({ rows: ['failover'], stores: [watched.url, watched.url], store: watched.url })
  })

  fault('failover', () =>
    runRow(world, [], 'failover', {
      inject: async () => {
        await watched.primary.kill('SIGKILL')
      },
      // Not before all that holds without the store has been looked at.
      cure: async () => {
        await watched.letDecide(8000)
        await expect.poll(watched.named, { timeout: 60_000 }).toBe(watched.replica.port)
      },
      told: OUT,
      degraded: true,
      both: true,
      // What the primary had answered and not yet passed on: at most one batch of each gateway, with what three clients ask.
      forgets: 6,
    }),
  )
})

describe('on a cluster of three', () => {
  let cluster: Cluster
  let world: World
  const KEY = '{tollgate}'
  beforeAll(async () => {
    cluster = await startCluster()
    world = await startWorld({ rows: IDS, stores: [cluster.url, cluster.url], store: cluster.url })
  })

  const ROWS = {
    cluster_moved: {
      inject: async () => {
        for (let i = 0; i < 3; i++) {
          await cluster.moveSlotOf(KEY)
          await sleep(200)
        }
      },
    },
    cluster_down: {
      inject: async () => {
        const { server } = await cluster.ownerOf(KEY)
        await server.kill('SIGKILL')
        await sleep(3000)
        await server.restart()
      },
      told: OUT,
    },
  } satisfies Record<string, Fault>
  const IDS = Object.keys(ROWS) as (keyof typeof ROWS)[]

  for (const id of IDS) fault(id, () => runRow(world, [], id, { ...ROWS[id], both: true }))
  fault('late_effects_cluster', () => expectNothingCameLater(world, IDS))
})
