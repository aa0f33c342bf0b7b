import { type Snapshot, sumSnapshots } from './registry.ts'

/** Combines the metrics of several processes. Counts of a process stay counted when it ends. */
export interface Sums {
  /** Takes the newest figures of a process. */
  take(process: number, figures: Snapshot): void
  /** Notes that a process has ended: its counters and histograms stay, its gauges go. */
  bury(process: number): Promise<void>
  /** Renders all of them, and `own`, in the Prometheus text format. */
  render(own: Snapshot): Promise<string>
}

export function createSums(): Sums {
  const newest = new Map<number, Snapshot>()
  /** The processes whose newest figures nobody has seen. */
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

  /** Merges the figures of ended processes into one, so that they do not pile up. Until then they are added as they are. */
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

/** Figures that a process measures anew after each of its reports, which are more frequent than scrapes. */
const MEASURED_ANEW = /^nodejs_eventloop_lag_(max|mean|stddev|p\d+)_seconds$/

/** `figures`, with the higher of both values if they are measured anew, so that a quiet second hides no busy one. */
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
