import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from '../figures.ts'
import { table } from '../report.ts'
import type { RunningGateway } from '../servers.ts'
import { median } from '../statistics.ts'
import type { Bench, Group } from './group.ts'

const COUNTS = [100, 1000, 10_000] as const
const WORKERS = [1, 2] as const
const EVERY_MS = 2

interface Longest {
  readonly request: number
  readonly readiness: number
}

/**
 * How long others wait while a configuration is read anew: the longest public request, and the longest question for readiness.
 * Each is sent on a kept connection 2 ms after the response to the one before. The gateway has one core, also for reading.
 */
export const reload: Group = async (bench) => {
  const rows = new Map<
    string,
    { readonly count: number; readonly longest: readonly Longest[]; readonly quiet: Longest }
  >()
  for (const workers of WORKERS) {
    for (const count of COUNTS) {
      const name = `${count.toLocaleString('en')} rules, ${workers === 1 ? 'one process' : `${workers} workers`}`
      rows.set(name, { count, ...(await measure(bench, count, workers)) })
    }
  }
  const cells = [...rows].map(([name, { longest, quiet }]) => {
    const of = (pick: (one: Longest) => number): string => median(longest.map(pick)).toFixed(1)
    return [name, of(({ request }) => request), of(({ readiness }) => readiness), quiet.request.toFixed(1)]
  })
  return {
    title: 'A reload',
    intro: `The longest answer during a reload, in milliseconds; medians of ${bench.rounds} reloads. The last column is the longest of as long without one:`,
    lines: table(['Row', 'A public request', '/readyz', 'Without a reload'], cells),
    figures: [...rows].flatMap(([name, { count, longest }]) => (count === 10_000 ? [figureOf(name, longest)] : [])),
  }
}

function figureOf(name: string, longest: readonly Longest[]): Figure {
  const values = longest.map(({ request, readiness }) => Math.max(request, readiness))
  return { name: `Longest answer during a reload, ${name}`, unit: 'ms', values, target: { atMost: 50 } }
}

async function measure({ stage, rounds }: Bench, count: number, workers: number) {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const server = await stage.gateway({ upstream, store: redis, change: changeOf(count, workers, 0) })
  // The first requests of a process are slow by themselves.
  await longestUntil(server, sleep(1000))
  const quiet = await longestUntil(server, sleep(1000))
  const longest: Longest[] = []
  for (let round = 1; round <= rounds; round++) {
    longest.push(await longestUntil(server, server.reconfigure(changeOf(count, workers, round))))
  }
  await server.stop()
  return { longest, quiet }
}

/** Each round has prices of its own. */
function changeOf(count: number, workers: number, round: number): object {
  const rules = Array.from({ length: count - 1 }, (_, i) => ({
    match: `GET /v1/service-${i % 100}/thing-${i}/:id`,
    category: 'read',
    cost: 1 + (i % 9) + round,
  }))
  return { workers, routes: [{ match: 'GET /public', public: true }, ...rules] }
}

async function longestUntil({ port, admin }: RunningGateway, end: Promise<unknown>): Promise<Longest> {
  let isOver = false
  const over = end.finally(() => {
    isOver = true
  })
  const longestOf = async (ofPort: number, path: string): Promise<number> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let longest = 0
    while (!isOver) {
      const begin = performance.now()
      await ask(ofPort, path, agent)
      longest = Math.max(longest, performance.now() - begin)
      await sleep(EVERY_MS)
    }
    agent.destroy()
    return longest
  }
  const [request, readiness] = await Promise.all([longestOf(port, '/public'), longestOf(admin, '/readyz'), over])
  return { request, readiness }
}

function ask(port: number, path: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ port, path, agent }, (res) => {
      res.resume()
      res.once('end', resolve)
    }).once('error', reject)
  })
}
