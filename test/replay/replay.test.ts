import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createApp } from '../../src/app/app.ts'
import { createLog } from '../../src/observe/log.ts'
import { readLogs } from '../../src/replay/read-logs.ts'
import { replay, replayTo } from '../../src/replay/replay.ts'
import { startUpstream, understood, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { tempFolder } from '../setup/at-end.ts'

/** What a gateway did is decided again, by its own log. */

const folder = tempFolder()

const ALL = { format: 'auto', from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY } as const
/** @param of an hour, for one user @param times how much looser the other limits are */
const rules = (personal: number, times = 1) => `
quota:
  windows: { 1s: 1s, 3s: 3s, 1h: 1h }
  baselines:
    personal: { read: { 1s: ${4 * times}, 3s: ${10 * times}, 1h: ${personal} }, write: { 1s: ${60 * times}, 3s: ${150 * times}, 1h: 60000 } }
    global: { read: { 1s: ${18 * times}, 3s: ${50 * times}, 1h: 4000 }, write: { 1s: ${250 * times}, 3s: ${700 * times}, 1h: 90000 } }
routes:
  - { match: GET /items/:id, category: read, cost: 1 }
  - { match: POST /report, category: write, cost: 20, settle: { header: X-Tokens, max: 50 } }
  - { match: GET /health, public: true }`

/** Numbers that look random and are the same each time. */
function* numbers(): Generator<number, never> {
  for (let seed = 7; ; seed = (seed * 48_271) % 2_147_483_647) yield seed
}

/** A gateway that writes its log. */
async function record(
  text: string,
  traffic: (url: string) => Promise<void>,
): Promise<{ file: string; refused: string[] }> {
  const file = join(folder, `${Math.random()}.log`)
  const log = createLog({ destination: file })
  const refused: string[] = []
  const { config, hash } = understood(text)
  const app = await createApp({
    config,
    hash,
    version: 'test',
    observe(seen) {
      log.observer(seen)
      if (seen.type === 'request' && seen.outcome === 'refused')
        refused.push(`${seen.user} ${seen.route} ${seen.decidedAt}`)
    },
  })
  try {
    await traffic((await app.start()).gateway)
  } finally {
    await app.stop()
    await log.close()
  }
  return { file, refused }
}

async function refusedAgain(text: string, file: string): Promise<string[]> {
  const { journal } = await readLogs([file], ALL)
  const refused: string[] = []
  await replayTo(understood(text).config, journal, {
    charged: () => {},
    uncharged: () => {},
    shadowed: () => {},
    refused: ({ at, user }, { route }) => refused.push(`${user} ${route} ${at}`),
  })
  return refused
}

test('months begin in the replay with the day that the log names, of a user and of an organisation, and else with that of the plan', async () => {
  const text = yaml(
    'http://127.0.0.1:9',
    `
quota:
  windows: { month: { calendar: month, zone: UTC } }
  baselines: { personal: { read: { month: 9 } } }
  plans: { late: { period_day: 20, personal: { read: { month: 1 } } }, shared: { organisation: { read: { month: 1 } } } }
routes: [{ match: GET /x, category: read }]`,
  )
  const file = join(folder, 'days.log')
  const own = { late: 'late', named: 'late', left: 'late' }
  const shared = { plain: 'shared', theirs: 'shared', notTheirs: 'shared' }
  const days = {
    ...{ named: { periodDay: 17 }, left: { periodDay: 17, organisationDay: null } },
    ...{ theirs: { organisationDay: 17 }, notTheirs: { periodDay: 17, organisationDay: null } },
  }
  const line = ([user, plan]: [string, string], day: number): string => {
    const at = Date.UTC(2026, 10, day)
    const of = { user, plan, organisation: `org of ${user}`, ...days[user as keyof typeof days] }
    const ended = { outcome: 'forwarded', httpStatus: 200, clientStatus: 200, durationMs: 0, msg: 'request' }
    return JSON.stringify({
      time: at,
      method: 'GET',
      route: 'GET /x',
      category: 'read',
      cost: 1,
      decidedAt: at,
      ...of,
      ...ended,
    })
  }
  const all = [16, 18, 21].flatMap((day) => Object.entries({ ...own, ...shared }).map((of) => line(of, day)))
  writeFileSync(file, `${all.join('\n')}\n`)
  const refused = (await refusedAgain(text, file)).map((each) => {
    const [user, , , at] = each.split(' ')
    return `${user} ${new Date(Number(at)).getUTCDate()}`
  })
  // A month ends for `late` before the 20th, for `named`, `left` and `theirs` before the 17th, and for the others with November.
  expect(refused.sort()).toEqual([
    'late 18',
    'left 21',
    'named 21',
    'notTheirs 18',
    'notTheirs 21',
    'plain 18',
    'plain 21',
    'theirs 21',
  ])
})

test('random traffic is refused by the replay as the gateway refused it, to the request', async () => {
  const next = numbers()
  const random = (below: number): number => next.next().value % below
  const upstream = await startUpstream((_seen, res) => {
    res.setHeader('X-Tokens', String(random(60)))
    res.end('ok')
  })
  const text = yaml(upstream.url, rules(20))
  const { file, refused } = await record(text, async (url) => {
    for (let i = 0; i < 300; i++) {
      const kind = random(8)
      const path = kind === 0 ? '/health' : kind < 5 ? `/items/${random(9)}` : '/report'
      const init = { method: path === '/report' ? 'POST' : 'GET', headers: bearer(`user-${random(4)}`) }
      await (await fetch(`${url}${path}`, init)).text()
      // What a response gives back is charged to the store with the next batch.
      await sleep(3 + random(5))
    }
  })
  expect(refused.length).toBeGreaterThan(20)
  // A refusal that is repeated from memory has the moment of the first one.
  expect((await refusedAgain(text, file)).sort()).toEqual(refused.toSorted())

  const { journal } = await readLogs([file], ALL)
  const { total } = await replay(understood(text).config, journal)
  expect(total).toMatchObject({ refused: refused.length, newlyRefused: 0, spared: 0 })
  const looser = await replay(understood(yaml(upstream.url, rules(1000, 1000))).config, journal)
  expect(looser.total).toMatchObject({ refused: 0, newlyRefused: 0, spared: refused.length })
  const stricter = await replay(understood(yaml(upstream.url, rules(1))).config, journal)
  expect(stricter.total.newlyRefused).toBeGreaterThan(0)
})
