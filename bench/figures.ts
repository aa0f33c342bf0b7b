import type { Row, Sample } from './rows.ts'

/** A figure of the table, its target, and what each round or pair of rounds gave. */
export interface Figure {
  readonly name: string
  readonly unit: 'x' | 'us' | 'ms' | 'bytes'
  readonly values: readonly number[]
  readonly target: { readonly atMost: number } | { readonly below: number }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[middle]]
  return (low + high) / 2
}

export function isMet({ values, target }: Figure): boolean {
  return 'atMost' in target ? median(values) <= target.atMost : median(values) < target.below
}

export interface CpuRows {
  readonly forward: Row
  readonly accepted: Row
  readonly refused: Row
  readonly nginx: Row
}

/** The ratios of CPU time, each within one round. */
export function cpuFigures(
  { forward, accepted, refused, nginx }: CpuRows,
  httpProxy: Row,
  samples: ReadonlyMap<Row, readonly Sample[]>,
): Figure[] {
  const log = accepted.log ? 'access log on' : 'access log off'
  const of = (row: Row): readonly Sample[] => samples.get(row) ?? []
  const ratio = (a: Row, b: Row, cost: (sample: Sample) => number): number[] =>
    of(a).map((sample, round) => cost(sample) / cost(of(b)[round] as Sample))
  const total = (sample: Sample): number => sample.total
  const against = accepted.log ? 'with our access log on, http-proxy-3 has none' : log
  return [
    {
      name: `accepted request against a bare forward, CPU of the gateway (${log})`,
      unit: 'x',
      values: ratio(accepted, forward, ({ proxy }) => proxy),
      target: { atMost: 1.15 },
    },
    {
      name: `accepted request against nginx + Lua, each with its Redis (${log})`,
      unit: 'x',
      values: ratio(accepted, nginx, total),
      target: { atMost: 0.85 },
    },
    {
      name: `accepted request with Redis against http-proxy-3 without a quota (${against})`,
      unit: 'x',
      values: ratio(accepted, httpProxy, total),
      target: { atMost: 0.65 },
    },
    {
      name: `refusal (429) with Redis against a bare forward (${log})`,
      unit: 'x',
      values: of(refused).map((sample, round) => sample.total / (of(forward)[round] as Sample).proxy),
      target: { below: 1 },
    },
    {
      name: `CPU of Redis for one charge under load (${log})`,
      unit: 'us',
      values: of(accepted).map(({ redis }) => redis),
      target: { atMost: 6 },
    },
  ]
}
