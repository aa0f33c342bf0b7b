import type { Config } from '../config/config.ts'
import type { Spans } from '../opentelemetry/spans.ts'
import { LAST_SPANS_MS } from './closing.ts'
import type { Telemetry } from './telemetry.ts'

/** Sends a span for each request, if the configuration says where to. @returns sends what is left */
export async function openSpans(
  { telemetry }: Config,
  version: string,
  { observe, follow }: Telemetry,
): Promise<() => Promise<void>> {
  if (telemetry === null) return () => Promise.resolve()
  // A gateway without spans does without the SDK.
  const { createSpans } = await import('../opentelemetry/spans.ts')
  const spans: Spans = createSpans({ ...telemetry, version, observe })
  follow(spans.observer)
  return () => spans.close(LAST_SPANS_MS)
}
