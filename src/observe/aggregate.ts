import { type Snapshot, sumSnapshots } from './registry.ts'

/** The metrics of several processes as one. What a process has counted stays counted when it ends. */
export interface Sums {
  /** The newest figures of a process. */
  take(process: number, figures: Snapshot): void
  /** It has ended: its counters and histograms stay, its gauges go. */
  bury(process: number): Promise<void>
  /** All of them, and `own`, in the Prometheus text format. */
  render(own: Snapshot): Promise<string>
}

export function createSums(): Sums {
  const newest = new Map<number, Snapshot>()
  let buried: Snapshot[] = []
  let merging: Promise<void> = Promise.resolve()

  function bury(process: number): Promise<void> {
    const counted = (newest.get(process) ?? []).filter(({ type }) => COUNTED.has(String(type)))
    newest.delete(process)
    buried.push(counted)
    merging = merging.then(merge)
    return merging
  }

  /** Into one, or the dead would pile up; until then they count as they are. */
  async function merge(): Promise<void> {
    const dead = buried.slice()
    const sum = await sumSnapshots(dead).figures()
    buried = [sum, ...buried.slice(dead.length)]
  }

  return {
    take: (process, figures) => void newest.set(process, figures),
    bury,
    render: (own) => sumSnapshots([own, ...buried, ...newest.values()]).text(),
  }
}

const COUNTED = new Set(['counter', 'histogram'])
