import { hash } from 'node:crypto'
import type { TraceIds } from './trace-context.ts'

const DIGITS = /^[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/

/**
 * The ids of a request that belongs to no trace: the digits of its request id if that is a UUID, and else of a digest of it. So all log
 * lines of a request have the same ids, and nothing is made before the first line.
 */
export function idsOfRequest(requestId: string): TraceIds {
  const digits = requestId.replaceAll('-', '')
  const traceId = DIGITS.test(digits) ? digits : hash('sha256', requestId).slice(0, 32)
  return { traceId, spanId: traceId.slice(16) }
}
