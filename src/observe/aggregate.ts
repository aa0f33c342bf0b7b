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
  /** Whose newest figures nobody has seen. */
  const unseen = new Set<number>()
  let buried: Snapshot[] = []
  let merging: Promise<void> = Promise.resolve()

  function take(process: number, figures: Snapshot): void {
    const before = unseen.has(process) ? newest.get(process) : undefined
    newest.set(process, before === undefined ? figures : withPeaks(figures, before))
    unseen.add(process)
  }

  function bury(process: number): Promise<void> {
    const counted = (newest.get(process) ?? []).filter(({ type }) => COUNTED.has(String(type)))
    newest.delete(process)
    unseen.delete(process)
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
    take,
    bury,
    render(own) {
      unseen.clear()
      return sumSnapshots([own, ...buried, ...newest.values()]).text()
    },
  }
}

/** What a process measures anew after each of its reports, which are more frequent than scrapes. */
const MEASURED_ANEW = /^nodejs_eventloop_lag_(max|mean|stddev|p\d+)_seconds$/

/** `figures`, with the higher one of both of what is measured anew: a hot second is seen, also if a quiet one follows. */
function withPeaks(figures: Snapshot, before: Snapshot): Snapshot {
  const peaks = new Map(before.filter(({ name }) => MEASURED_ANEW.test(name)).map(({ name, values }) => [name, values]))
  return figures.map((metric) => {
    const [peak] = peaks.get(metric.name) ?? []
    const [value] = metric.values
    return peak === undefined || value === undefined || peak.value <= value.value
      ? metric
      : { ...metric, values: [peak] }
  })
}

const COUNTED = new Set(['counter', 'histogram'])
