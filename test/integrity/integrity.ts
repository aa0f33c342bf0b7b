import { makeCertificates, WAYS, type Way } from '../setup/ways.ts'
import { planWorld } from './plan.ts'
import type { Bad } from './records.ts'
import { runWorld } from './world.ts'

export interface IntegrityOptions {
  readonly seed: number
  /** How long worlds are begun. */
  readonly seconds: number
  /** Only this one. */
  readonly world?: number
  /** Default: all. */
  readonly ways?: readonly Way[]
  readonly onBad: (bad: Bad) => void
}

export interface Sum {
  worlds: number
  /** Whole responses of the upstream, each looked at byte by byte. */
  responses: number
  /** Of bodies, in both directions. */
  bytes: number
  bad: number
}

/** All ways at a time, each with one world after the other. @returns by the name of the way */
export async function runIntegrity({
  seed,
  seconds,
  world,
  ways = WAYS,
  onBad,
}: IntegrityOptions): Promise<Map<string, Sum>> {
  const sums = new Map(WAYS.map(({ name }) => [name, { worlds: 0, responses: 0, bytes: 0, bad: 0 }]))
  const certificates = makeCertificates()
  const until = performance.now() + 1000 * seconds

  /** @param number of the world, which says its way as well */
  async function run(number: number): Promise<void> {
    const way = WAYS[number % WAYS.length] as Way
    const records = await runWorld(planWorld(seed, number, way), certificates)
    const sum = sums.get(way.name) as Sum
    sum.worlds++
    sum.responses += records.responses
    sum.bytes += records.bytes
    sum.bad += records.bad.length
    records.bad.forEach(onBad)
  }
  async function runAll(first: number): Promise<void> {
    for (let number = first; performance.now() < until; number += WAYS.length) await run(number)
  }
  try {
    if (world === undefined) await Promise.all(ways.map((way) => runAll(WAYS.indexOf(way))))
    else await run(world)
  } finally {
    certificates.remove()
  }
  return sums
}
