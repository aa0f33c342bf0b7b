/** W3C Trace Context: https://www.w3.org/TR/trace-context/#traceparent-header */

const IDS = '(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}'
/** Version 00 ends after its flags. A later version may have more, and `ff` is no version. */
const TRACEPARENT = new RegExp(`^(?:00-${IDS}|(?!00|ff)[0-9a-f]{2}-${IDS}(?:-.*)?)$`)

/**
 * The traceparent of a request, as it came; `null` if there is none, or it is not valid. Node joins two fields of that name, and the
 * result is not valid either.
 */
export function traceparentOf({ traceparent }: Readonly<Record<string, unknown>>): string | null {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : null
}

/** 32 and 16 digits of lower-case hex, neither of them all zeros. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** The span of a request, which is the parent of the upstream's. */
export interface Trace {
  /** The traceparent that the upstream gets. */
  readonly traceparent: string
  /** The span of the sender of the request; `null` if the trace begins here. */
  readonly parentId: string | null
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** @param traceparent a valid one */
export function idsIn(traceparent: string): TraceIds {
  return { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52) }
}

/** Whether the sender of a valid traceparent says that it may have recorded its span. */
export function isSampled(traceparent: string): boolean {
  return (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1
}
