import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../figures.ts'
import { freePort } from '../processes.ts'
import { spreadOf, table } from '../report.ts'
import { jwtOf } from '../requests.ts'
import type { Running, Stage } from '../servers.ts'
import { median } from '../statistics.ts'
import type { Group } from './group.ts'

/**
 * How long a stranger waits for a 401: a credential of another service must not take another time than one that nobody
 * has given out, or the time would say what it is.
 */

const BOT_TOKEN = 'a-bot-token-of-the-benchmark-x1'
const CHART_SECRET = 'a-chart-secret-of-the-benchmark'

/** One of each kind, and what nobody has given out. */
const SHOWN: Readonly<Record<string, string>> = {
  'what nobody gave out': 'a-stranger-of-the-benchmark-xyz',
  'a JWT': jwtOf('u000000001'),
  'an access key': 'gw_YochtPJUAe0eWoWX897CvXVDiVfGvdoH43njAA',
  'a Bot-Token': BOT_TOKEN,
  'a chart key': 'mk_live_8Jq0Zl3o8Jq0Zl3o8Jq0Zl3o',
  'the chart secret': CHART_SECRET,
}

interface Door {
  readonly name: string
  readonly server: Running
  readonly path: string
  readonly headers: (shown: string) => Record<string, string>
  /** Its own kinds, which it looks at more closely, or accepts. */
  readonly own: readonly string[]
}

const bearer = (shown: string) => ({ authorization: `Bearer ${shown}` })

export const credentials: Group = async ({ stage, quick }) => {
  const doors = await openDoors(stage)
  const rows: string[][] = []
  const figures: Figure[] = []
  for (const door of doors) {
    const times = await measure(door, quick ? 50 : 2000)
    const medians = [...times.values()].map(median)
    rows.push(...[...times].map(([kind, list]) => [door.name, kind, spreadOf(quartiles(list), 0)]))
    figures.push({
      name: `slowest kind of a foreign credential against the fastest, median of ${door.name}`,
      unit: 'x',
      values: [Math.max(...medians) / Math.min(...medians)],
      target: { atMost: 1.1 },
    })
  }
  return {
    title: 'Foreign credentials',
    lines: [
      'Time from the request to the 401, one request at a time in random order; median and quartiles in microseconds:',
      '',
      ...table(['Service', 'Shown', 'Time'], rows),
    ],
    figures,
  }
}

async function openDoors(stage: Stage): Promise<Door[]> {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const gateway = await stage.gateway({ upstream, store: redis, log: false })
  const sync = await startService(stage, 'sync', `SYNC_BOT_TOKENS=${BOT_TOKEN}`)
  const chart = await startService(stage, 'chart', `CHART_ADMIN_SECRET=${CHART_SECRET}`)
  return [
    { name: 'the gateway', server: gateway, path: '/read', headers: bearer, own: ['a JWT', 'an access key'] },
    {
      name: 'network score-sync',
      server: sync,
      path: '/api/bot/player/123456789',
      headers: (shown) => ({ 'bot-token': shown }),
      own: ['a Bot-Token'],
    },
    { name: 'chart preview', server: chart, path: '/api/v1/charts', headers: bearer, own: ['a chart key'] },
    { name: 'its keys', server: chart, path: '/api/v1/api-keys', headers: bearer, own: ['the chart secret'] },
  ]
}

async function startService(stage: Stage, name: string, secret: string): Promise<Running> {
  const main = fileURLToPath(new URL(`../../services/${name}/main.ts`, import.meta.url))
  const port = await freePort()
  const database = join(stage.folder(name), `${name}.db`)
  const options = ['serve', '--listen', `127.0.0.1:${port}`, '--database', database]
  return stage.server(['env', secret, process.execPath, main, ...options], port)
}

async function measure({ server, path, headers, own }: Door, count: number): Promise<Map<string, number[]>> {
  const kinds = Object.keys(SHOWN).filter((kind) => !own.includes(kind))
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const times = new Map<string, number[]>(kinds.map((kind) => [kind, []]))
  for (let round = -count / 4; round < count; round++) {
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const begin = performance.now()
      await refused({ agent, port: server.port, path, headers: headers(SHOWN[kind] ?? '') })
      if (round >= 0) times.get(kind)?.push((performance.now() - begin) * 1000)
    }
  }
  agent.destroy()
  return times
}

/** @throws Error if it is not refused */
async function refused(options: http.RequestOptions): Promise<void> {
  const [response] = (await once(http.get({ host: '127.0.0.1', ...options }), 'response')) as [http.IncomingMessage]
  if (response.statusCode !== 401) throw new Error(`${options.path}: ${response.statusCode} instead of 401`)
  response.resume()
  await once(response, 'end')
}

function quartiles(list: readonly number[]): number[] {
  const sorted = list.toSorted((a, b) => a - b)
  return [0.25, 0.5, 0.75].map((part) => sorted[Math.floor(part * sorted.length)] ?? Number.NaN)
}
