import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What must not grow, read from outside the process. */
export interface Sample {
  readonly rssMb: number
  readonly handles: number
  readonly sockets: number
  readonly inFlight: number
  readonly keys: number
}

export async function sample(pid: number, admin: string, keys: () => Promise<number>): Promise<Sample> {
  const descriptors = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      return 'closed meanwhile'
    }
  })
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  return {
    rssMb: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1000),
    handles: descriptors.length,
    sockets: descriptors.filter((target) => target.startsWith('socket:')).length,
    inFlight: Number(/^tollgate_inflight_requests(?:\{.*\})? (\d+)/m.exec(metrics)?.[1] ?? Number.NaN),
    keys: await keys(),
  }
}

/** By what factor and how much each may be larger in the last third than in the middle one, by their medians. */
export const BOUNDS: Readonly<Record<keyof Sample, { readonly factor: number; readonly more: number }>> = {
  rssMb: { factor: 1.1, more: 15 },
  handles: { factor: 1.1, more: 20 },
  sockets: { factor: 1.1, more: 20 },
  inFlight: { factor: 1.1, more: 20 },
  // A row of the failure histogram begins each half hour.
  keys: { factor: 1, more: 2 },
}

/** @param samples in their order; the first third is warming up @returns a sentence for each that has grown too much */
export function growth(samples: readonly Sample[]): string[] {
  const third = Math.floor(samples.length / 3)
  const [warm, last] = [samples.slice(third, 2 * third), samples.slice(-third)]
  return (Object.keys(BOUNDS) as (keyof Sample)[]).flatMap((key) => {
    const [before, after] = [warm, last].map((part) => median(part.map((each) => each[key]))) as [number, number]
    const bound = before * BOUNDS[key].factor + BOUNDS[key].more
    return after <= bound ? [] : [`${key} grew from ${before} to ${after}, more than ${Math.round(bound)}`]
  })
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
