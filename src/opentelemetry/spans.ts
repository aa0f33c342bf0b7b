import { type Attributes, type HrTime, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { idsIn, isSampled, type Trace, type TraceIds } from '../lib/trace-context.ts'
import type { Observer, RequestDone } from '../observe/observation.ts'
import { attributesOf, nameOf } from './attributes.ts'

/** Makes the span of each sampled request at its end, and sends the spans to a collector by OpenTelemetry's own SDK. */
export interface Spans {
  readonly observer: Observer
  /** Sends the remaining spans. Never rejects. @param graceMs how long the collector may take */
  close(graceMs: number): Promise<void>
}

export interface SpansOptions {
  /** The URL at which the collector accepts spans, as OTLP over HTTP. */
  readonly otlp: string
  /** Header fields that are sent to the collector. */
  readonly headers: ReadonlyMap<string, string>
  /** Whether a span has the user. */
  readonly user: boolean
  /** The version of Tollgate. */
  readonly version: string
  readonly observe: Observer
}

/** The most spans that the collector does not have yet, including those on their way. A span takes 1 to 2 KB. */
const MOST_WAITING = 2048
const BATCH = 512
/** How long a span waits for others of its batch, in milliseconds. */
const DELAY_MS = 1000
/** The time for all attempts to send a batch, in milliseconds. A busy or absent collector is asked again within it. */
const DEADLINE_MS = 5000
const REFUSED = 'the collector refuses'

/** Sends an empty batch in the usual way. @returns why the collector does not accept it; `null` if it does */
export async function trySending({ otlp, headers }: Pick<SpansOptions, 'otlp' | 'headers'>): Promise<string | null> {
  const exporter = exporterTo(otlp, headers)
  const failed = await new Promise<string | null>((resolve) => {
    exporter.export([], ({ code, error }) => resolve(code === 0 ? null : (error?.message ?? REFUSED)))
  })
  await exporter.shutdown()
  return failed
}

function exporterTo(url: string, headers: ReadonlyMap<string, string>): OTLPTraceExporter {
  return new OTLPTraceExporter({ url, headers: Object.fromEntries(headers), timeoutMillis: DEADLINE_MS })
}

export function createSpans({ otlp, headers, user, version, observe }: SpansOptions): Spans {
  /** The spans that the SDK has in its queue or on their way. */
  let waiting = 0
  /** The dropped spans that are not reported yet. */
  let noRoom = 0
  /** Whether `close` is over. Later results are not reported. */
  let isClosed = false
  let ids: TraceIds = { traceId: '', spanId: '' }
  const exporter = exporterTo(otlp, headers)
  const counting: SpanExporter = {
    export(spans, onResult) {
      exporter.export(spans, (result) => {
        waiting -= spans.length
        const failed = result.code === 0 ? null : (result.error?.message ?? REFUSED)
        report(spans.length, failed)
        onResult(result)
      })
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  }
  const provider = new TracerProvider({
    // A span that is not sampled never gets here.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version })),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: counting,
        maxQueueSize: MOST_WAITING,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: DELAY_MS,
        exportTimeoutMillis: 2 * DEADLINE_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('tollgate', version)

  function report(spans: number, failed: string | null): void {
    if (!isClosed) observe({ type: 'spans_sent', spans, failed, noRoom })
    noRoom = 0
  }

  function make(done: RequestDone, { traceparent, parentId, startedAt }: Trace): void {
    ids = idsIn(traceparent)
    const parent = { traceId: ids.traceId, spanId: parentId ?? '', traceFlags: 1, isRemote: true }
    const context = parentId === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
    const attributes: Attributes = attributesOf(done, user)
    const options = { kind: SpanKind.SERVER, startTime: timeOf(startedAt), attributes }
    const span = tracer.startSpan(nameOf(done), options, context)
    if (done.clientStatus >= 500 || done.outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(timeOf(startedAt + done.durationMs))
  }

  return {
    observer(seen) {
      if (seen.type !== 'request' || seen.trace === null || !isSampled(seen.trace.traceparent)) return
      if (waiting >= MOST_WAITING) {
        noRoom++
        return
      }
      waiting++
      make(seen, seen.trace)
    },
    async close(graceMs) {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, graceMs)
      // A failed batch reports its own result.
      await Promise.race([provider.shutdown().catch(() => {}), late])
      clearTimeout(timer)
      if (waiting > 0) report(waiting, 'the gateway stops')
      isClosed = true
    },
  }
}

const SERVICE = process.env.OTEL_SERVICE_NAME ?? 'tollgate'

/** Seconds and nanoseconds: from a plain number the SDK would guess the unit and the origin. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
}
