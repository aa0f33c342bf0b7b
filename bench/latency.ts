import type { Figure } from './figures.ts'
import { atRate, type Latency, type Target } from './load.ts'

export interface LatencyRounds {
  /** Requests a second. */
  readonly rate: number
  readonly direct: readonly Latency[]
  readonly gateway: readonly Latency[]
}

/** The same requests at the same rate, to the backend itself and through the gateway, in turn. */
export async function measureLatency(
  { gateway, direct }: { gateway: Target; direct: Target },
  rate: number,
  rounds: number,
  seconds: number,
): Promise<LatencyRounds> {
  const result = { rate, direct: [] as Latency[], gateway: [] as Latency[] }
  const count = Math.round(rate * seconds)
  for (let round = 0; round < rounds; round++) {
    result.direct.push(await atRate(direct, rate, count))
    result.gateway.push(await atRate(gateway, rate, count))
  }
  return result
}

export function latencyFigure({ rate, direct, gateway }: LatencyRounds): Figure {
  return {
    name: `added p99 at half of the saturation load, ${Math.round(rate)} requests/s (access log on)`,
    unit: 'ms',
    values: gateway.map(({ p99 }, round) => p99 - (direct[round]?.p99 ?? Number.NaN)),
    target: { atMost: 2 },
  }
}
