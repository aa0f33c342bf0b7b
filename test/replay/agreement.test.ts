import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createApp } from '../../src/app/app.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Observation, RequestDone, Settled } from '../../src/observe/observation.ts'
import { readLogs } from '../../src/replay/read-logs.ts'
import { replay } from '../../src/replay/replay.ts'
import { startUpstream, understood, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { tokensIn } from '../observe/settled.ts'
import { tempFolder } from '../setup/at-end.ts'

/** What happened, what was reported of it, what the log says, and what a replay makes of the log, are the same. */

const folder = tempFolder()

const USERS = ['alice', 'bob', 'carol', 'monitoring'] as const
const LIMITS = { shadow: fc.boolean(), routeShadow: fc.boolean(), plans: fc.boolean(), exempt: fc.boolean() }

interface World {
  readonly shadow: boolean
  readonly routeShadow: boolean
  readonly plans: boolean
  readonly exempt: boolean
}

const rulesOf = ({ shadow, routeShadow, plans, exempt }: World): string => `
quota:
  shadow: ${shadow}
  ${plans ? 'plans: { team: { personal: { read: { 1h: 9 } }, organisation: { read: { 1h: 14 } } } }' : ''}
  ${exempt ? 'exempt: { users: [monitoring] }' : ''}
  baselines:
    personal: { read: { 1h: 12 }, write: { 1h: 70 }, requests: { 1h: 6 }, tokens: { 1h: 90 } }
    global: { read: { 1h: 40 }, write: { 1h: 200 }, tokens: { 1h: 300 } }
routes:
  - { match: GET /free, public: true }
  - { match: GET /items/:id, category: read, cost: 2 }
  - { match: GET /watched, category: read, cost: 3, shadow: ${routeShadow} }
  - { match: POST /report, category: write, cost: 20, settle: { header: X-Tokens, max: 50 } }
  - { match: POST /chat, charges: { requests: 1, tokens: { cost: 15, settle: { header: X-Tokens, max: 40 } } } }`

interface Happened {
  readonly file: string
  readonly observations: readonly Observation[]
  readonly statuses: readonly string[]
  /** Of all windows of an hour of the users. */
  readonly used: number
}

/** Random requests, of which the last meet an upstream that is gone. */
async function happens(
  text: string,
  seed: number,
  upstream: Awaited<ReturnType<typeof startUpstream>>,
): Promise<Happened> {
  const file = join(folder, `${seed}-${Math.random()}.log`)
  const log = createLog({ destination: file })
  const observations: Observation[] = []
  const { config, hash } = understood(text)
  const observe = (seen: Observation) => {
    log.observer(seen)
    observations.push(seen)
  }
  const app = await createApp({ config, hash, version: 'test', observe })
  const statuses: string[] = []
  let used = 0
  try {
    const { gateway: url } = await app.start()
    const headersOf = (user: string) => ({
      authorization: `Bearer ${jwtOf(user, { org: user === 'carol' ? 'beta' : 'acme', plan: user === 'bob' ? 'gold' : 'team' })}`,
    })
    let state = seed
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
    for (let i = 0; i < 90; i++) {
      if (i === 80) await upstream.close()
      const path = ['/free', '/items/1', '/items/2', '/watched', '/report', '/chat'][random(6)] as string
      const method = path === '/report' || path === '/chat' ? 'POST' : 'GET'
      const response = await fetch(url + path, { method, headers: headersOf(USERS[random(4)] as string) })
      await response.text()
      statuses.push(String(response.status))
      await sleep(3)
    }
    for (const user of USERS) {
      const { windows } = (await (await fetch(`${url}/me/quota`, { headers: headersOf(user) })).json()) as {
        windows: Record<string, { scope: string; used: number }[]>
      }
      for (const each of Object.values(windows).flat()) if (each.scope === 'Personal') used += each.used
    }
  } finally {
    await app.stop()
    await log.close()
  }
  return { file, observations, statuses, used }
}

const world = (): fc.Arbitrary<World & { readonly seed: number }> =>
  fc.record({ ...LIMITS, seed: fc.integer({ min: 1, max: 2_147_483_646 }) })

test('the store, the reports, the log and a replay of it under the same file agree, to the request and the token', async () => {
  await fc.assert(
    fc.asyncProperty(world(), async ({ seed, ...of }) => {
      let said = seed
      const upstream = await startUpstream((_seen, res) => {
        said = (said * 16_807) % 2_147_483_647
        res.setHeader('X-Tokens', String(said % 60))
        res.end('ok')
      })
      const text = yaml(upstream.url, rulesOf(of)).replace(
        'algorithms: [HS256]',
        'algorithms: [HS256], organisation_claim: org, plan_claim: plan',
      )
      const { file, observations, statuses, used } = await happens(text, seed, upstream)
      const count = (status: string) => statuses.filter((each) => each === status).length
      const outcomes = observations.filter((seen): seen is Settled => seen.type === 'settled')
      const ofKind = (...kinds: Settled['kind'][]) =>
        outcomes.filter(({ kind, isFurther }) => kinds.includes(kind) && isFurther === undefined).length

      // Each outcome once: each request that costs something has one, and each charge that was corrected one more.
      const costly = observations.filter((seen): seen is RequestDone => seen.type === 'request' && seen.cost > 0)
      expect(ofKind('charged', 'refused', 'shadowed', 'exempt', 'repeated')).toBe(costly.length)
      expect(ofKind('refused')).toBe(count('429'))
      expect(ofKind('shadowed')).toBe(costly.filter(({ shadowed }) => shadowed).length)
      const settling = costly.filter(
        ({ route, decidedAt, outcome, shadowed }) =>
          (route === 'POST /report' || route === 'POST /chat') &&
          decidedAt !== null &&
          outcome !== 'refused' &&
          !shadowed,
      )
      expect(new Set(outcomes).size).toBe(outcomes.length)
      expect(outcomes.filter(({ kind }) => kind === 'corrected').length).toBe(
        settling.filter(({ outcome }) => outcome === 'forwarded').length,
      )
      expect(tokensIn(observations)).toBe(used)

      const lines = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"msg":"request"'))
      const bill = lines
        .map((line) => JSON.parse(line))
        .flatMap((line) => [line, ...(line.others ?? [])])
        .reduce((sum, { cost, charged = cost }) => sum + charged, 0)
      expect(bill).toBe(used)

      const all = { format: 'auto', from: 0, to: Number.POSITIVE_INFINITY } as const
      const { total } = await replay(understood(text).config, (await readLogs([file], all)).journal)
      expect(total).toMatchObject({
        refused: ofKind('refused'),
        shadowed: ofKind('shadowed'),
        newlyRefused: 0,
        spared: 0,
        tokens: used,
      })
    }),
    { numRuns: 6 },
  )
}, 240_000)

test('a replay of a log under a file that brings plans and takes shadow away refuses what that file then refuses', async () => {
  const before = { shadow: true, routeShadow: false, plans: false, exempt: true }
  const after = { shadow: false, routeShadow: false, plans: true, exempt: false }
  const fates = async (of: World) => {
    const upstream = await startUpstream((_seen, res) => void res.setHeader('X-Tokens', '5').end('ok'))
    const text = yaml(upstream.url, rulesOf(of)).replace(
      'algorithms: [HS256]',
      'algorithms: [HS256], organisation_claim: org, plan_claim: plan',
    )
    const happened = await happens(text, 7, upstream)
    return { ...happened, text }
  }
  const [old, now] = [await fates(before), await fates(after)]
  expect(old.statuses).not.toContain('429')
  const all = { format: 'auto', from: 0, to: Number.POSITIVE_INFINITY } as const
  const { journal } = await readLogs([old.file], all)
  const { total } = await replay(understood(now.text).config, journal)
  const refused = now.statuses.filter((status) => status === '429').length
  expect(refused).toBeGreaterThan(5)
  expect(total).toMatchObject({ refused, newlyRefused: refused, spared: 0, shadowed: 0 })
})
