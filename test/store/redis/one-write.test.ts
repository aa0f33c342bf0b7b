import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { expectOfOnePiece, makeNext, STEPS } from '../../control/rounds.ts'
import { type FaultProxy, startFaultProxy } from '../../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

let server: RedisServer
let proxy: FaultProxy
let admin: Redis
/** By the proxy, as the user whose rights are taken. */
let store: Store
/** The same store, by neither. */
let direct: Store
beforeAll(async () => {
  server = await startRedis()
  proxy = await startFaultProxy(server.port)
  admin = new Redis(server.url)
  await admin.acl('SETUSER', 'tollgate', 'on', '>secret', '~*', '&*', '+@all')
  const url = (user: string, port: number) => `redis://${user}127.0.0.1:${port}`
  const options = { deadlineMs: 5000, observe: () => {} }
  store = openRedisStore({ url: url('tollgate:secret@', proxy.port), ...options })
  direct = openRedisStore({ url: url('', server.port), ...options })
  await Promise.all([store, direct].map(whenReady))
  // Redis has the scripts from now on.
  for (let i = 0; i < STEPS.length; i++) await makeNext(store)
})
afterEach(async () => {
  await proxy.heal()
  await admin.acl('SETUSER', 'tollgate', '+@all')
  await whenReady(store)
})
afterAll(async () => {
  await Promise.all([store, direct].map((each) => each.close()))
  admin.disconnect()
  await proxy.close()
  await server.stop()
})

/** What a change is, as its script is sent. */
const KIND_OF: Readonly<Record<string, string>> = {
  mode: 'settings',
  schedule: 'settings',
  override: 'override',
  'override of jane': 'override',
  organisation: 'organisation_override',
  'key made': 'token_created',
  'key revoked': 'token_revoked',
  'jane forgotten': 'user_forgotten',
  reset: 'reset',
  'organisation reset': 'quota_reset',
  'global reset': 'quota_reset',
  'all overrides': 'overrides',
}

/** Brings the store to where a step is the next one. It is there already behind the test of the step before. */
async function until(what: string): Promise<void> {
  for (let i = 0; i < STEPS.length; i++) {
    const { version } = await store.controlVersion()
    if (STEPS[version % STEPS.length]?.what === what) return
    await makeNext(store)
  }
}

/** The number of the last change of all overrides up to this one; not above 0 for none. */
function lastFile(version: number): number {
  const place = STEPS.findIndex((step) => step.what === 'all overrides')
  return version - ((version - 1 - place + STEPS.length) % STEPS.length)
}

/** Commands by which scripts write. */
const WRITES = [
  'set',
  'hset',
  'hdel',
  'del',
  'zadd',
  'zrem',
  'zremrangebyrank',
  'rename',
  'unlink',
  'persist',
  'pexpire',
]

const KINDS = STEPS.map(({ what }) => what)

it.each(KINDS)(
  'a change of %s whose request or reply is lost is made with its entry in the audit, or not at all',
  async (what) => {
    const containing = `\r\n${KIND_OF[what]}\r\n`
    for (const lost of ['request', 'reply'] as const) {
      await until(what)
      const before = await direct.controlVersion()
      const fails = makeNext(store, () =>
        lost === 'request' ? proxy.dropRequest({ containing }) : proxy.dropReply({ containing }),
      )
      await expect(fails).rejects.toMatchObject({ name: 'StoreError', applied: 'unknown' })
      const { version } = await direct.controlVersion()
      expect(version - before.version).toBe(lost === 'reply' ? 1 : 0)
      await expectOfOnePiece(direct, lost === 'reply' ? 'no' : 'yes')
      await whenReady(store)
    }
  },
)

describe.each(WRITES)('a change that Redis refuses at the command %s', (command) => {
  it.each(KINDS)(
    'a change of %s that Redis refuses is made with its entry in the audit, or not at all, and the file before can be undone',
    async (what) => {
      await until(what)
      const { version } = await direct.controlVersion()
      const kept = await direct.readReplaced(lastFile(version))
      const made = makeNext(store, () => void admin.acl('SETUSER', 'tollgate', `-${command}`))
      await made.catch(() => {})
      await admin.acl('SETUSER', 'tollgate', '+@all')
      const isMade =
        (await direct.controlVersion()).version % STEPS.length !== STEPS.findIndex((step) => step.what === what)
      await expectOfOnePiece(direct, isMade ? 'no' : 'yes')
      if (!isMade) {
        expect(await direct.readReplaced(lastFile(version))).toEqual(kept)
        await makeNext(store)
      }
      await expectOfOnePiece(direct, 'no')
    },
  )
})
