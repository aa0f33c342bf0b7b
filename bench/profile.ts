import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './groups/group.ts'
import { saturate } from './load.ts'
import { table } from './report.ts'

/** The rows that can be profiled, each with its path. */
const PATHS = { accepted: '/read', forward: '/public', refused: '/spent', status: '/me/quota' } as const
export const PROFILES: readonly string[] = Object.keys(PATHS)

const INTERVAL_US = 200
const WARM_SECONDS = 3
const TOP = 40

/** Runs a row alone under Node's profiler and reports the functions with the most own time. */
export async function profile(row: string, { stage, requests, seconds }: Bench): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-profile-'))
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL_US}`]
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const gateway = await stage.gateway({ upstream, store: redis, flags })
  const load = { port: gateway.port, requests: requests.byUsers('GET', PATHS[row as keyof typeof PATHS]) }
  await saturate(load, WARM_SECONDS)
  const begin = performance.now()
  const { rate, requests: count } = await saturate(load, seconds * 5)
  await gateway.stop()
  const last = (performance.now() - begin) * 1000
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error('the gateway wrote no profile')
  const times = selfTimes(JSON.parse(readFileSync(join(folder, file), 'utf8')), last).filter(
    ({ name }) => name !== '(idle)',
  )
  const all = times.reduce((sum, { us }) => sum + us, 0)
  return [
    `${join(folder, file)} (opens in Chrome's DevTools, Performance)`,
    `${rate.toFixed(0)} requests/s while it was written, each ${(all / count).toFixed(1)} us. Time of the functions themselves:`,
    '',
    ...table(
      ['Share', 'us a request', 'Function', 'Place'],
      times
        .slice(0, TOP)
        .map(({ us, name, place }) => [`${((us / all) * 100).toFixed(1)} %`, (us / count).toFixed(2), name, place]),
    ),
  ].join('\n')
}

/** The used part of V8's format: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  /** The node that was running at each tick. */
  readonly samples: readonly number[]
  /** Microseconds before each tick. */
  readonly timeDeltas: readonly number[]
}

export interface SelfTime {
  readonly name: string
  readonly place: string
  us: number
}

/**
 * The own time of each function, the largest first, added up over its places in the call tree.
 *
 * @param last microseconds before the end that count, so that the start of the process is left out. Default all
 */
export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile, last = Number.POSITIVE_INFINITY): SelfTime[] {
  const functions = new Map<string, SelfTime>()
  const byNode = new Map<number, SelfTime>()
  for (const { id, callFrame } of nodes) {
    const { functionName: name, url, lineNumber } = callFrame
    const place = url === '' ? '' : `${url.replace(/^.*\/(?=(src|node_modules)\/)/, '')}:${lineNumber + 1}`
    const key = `${name} ${place}`
    const one = functions.get(key) ?? { name: name || '(anonymous)', place, us: 0 }
    functions.set(key, one)
    byNode.set(id, one)
  }
  let left = timeDeltas.reduce((sum, delta) => sum + delta, 0)
  samples.forEach((id, tick) => {
    const delta = timeDeltas[tick] ?? 0
    const one = byNode.get(id)
    if (one !== undefined && left <= last) one.us += delta
    left -= delta
  })
  return [...functions.values()].filter(({ us }) => us > 0).sort((a, b) => b.us - a.us)
}
