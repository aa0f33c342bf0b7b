import { idsOfRequest } from '../lib/request-ids.ts'
import { idsIn, isSampled, type Trace, traceparentOf } from '../lib/trace-context.ts'
import { uuid } from '../lib/uuid.ts'

/** Which requests are sampled. `parent`: those whose traceparent has the flag, or that have none. A number from 0 to 1: that share of all traces. */
export type Sample = 'parent' | number

/**
 * Begins the span of a request. Sampling is decided before forwarding, since the upstream follows it; the span is created at the
 * end.
 * @param headers of the request @param isTrusted whether a trusted proxy chose the ids
 */
export function beginTrace(
  headers: Readonly<Record<string, unknown>>,
  requestId: string,
  sample: Sample,
  isTrusted: boolean,
): Trace {
  const came = traceparentOf(headers)
  const parent = came === null ? null : idsIn(came)
  const traceId = parent?.traceId ?? idsOfRequest(requestId).traceId
  // A trusted proxy may give two requests the same id.
  const { spanId } = idsOfRequest(uuid())
  // A stranger could choose a trace id so that all of his requests are sampled, or none.
  const drawn = came === null || isTrusted ? traceId.slice(16) : spanId
  const sampled = sample === 'parent' ? came === null || isSampled(came) : isInShare(drawn, sample)
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`,
    parentId: parent?.spanId ?? null,
    startedAt: Date.now(),
  }
}

/**
 * Whether an id is in a share of all ids. The last 56 bits decide, as in OpenTelemetry, so that everybody who samples by the id takes the
 * same traces. @param id of 16 hexadecimal digits
 */
function isInShare(id: string, share: number): boolean {
  return share > 0 && Number.parseInt(id.slice(2), 16) >= (1 - share) * 2 ** 56
}
