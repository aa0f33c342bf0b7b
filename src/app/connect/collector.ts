import type { Config } from '../../config/config.ts'
import type { Tried } from './tried.ts'

/** Whether the collector accepts spans. A gateway also works without it. */
export async function tryCollector({ telemetry }: Config): Promise<Tried[]> {
  if (telemetry === null) return []
  const path = ['telemetry', 'otlp']
  const { trySending } = await import('../../opentelemetry/spans.ts')
  const failed = await trySending(telemetry)
  if (failed === null) return [{ path, result: 'good', message: 'the collector takes spans' }]
  const cure =
    'correct the address of OTLP over HTTP (port 4318 for most collectors) and telemetry.headers, and let this machine reach it; until then spans are dropped'
  return [{ path, result: 'warning', message: `${failed}: ${cure}` }]
}
