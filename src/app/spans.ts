import type { Config } from '../config/config.ts'
import type { Spans } from '../opentelemetry/spans.ts'
import { LAST_SPANS_MS } from './closing.ts'
import type { Telemetry } from './telemetry.ts'

/** Sends a span for each request, if a collector is configured. @returns a function that sends the rest */
export async function openSpans(
  { telemetry }: Config,
  version: string,
  { observe, follow }: Telemetry,
): Promise<() => Promise<void>> {
  if (telemetry === null) return () => Promise.resolve()
  // Without spans the SDK is not loaded.
  const { createSpans } = await import('../opentelemetry/spans.ts')
  const spans: Spans = createSpans({ ...telemetry, version, observe })
  follow(spans.observer)
  return () => spans.close(LAST_SPANS_MS)
}
