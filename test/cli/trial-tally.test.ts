import { describe, expect, test } from 'vitest'
import { createTrialTally, type Ended, leftOutText } from '../../src/cli/trial-tally.ts'

const SERVICE = 'http://127.0.0.1:3000'
const ended = (more: Partial<Ended>): Ended => ({
  outcome: 'denied',
  error: null,
  reason: null,
  clientStatus: 400,
  ...more,
})
const UNREACHABLE = ended({
  outcome: 'failed',
  error: 'upstream_unreachable',
  clientStatus: 502,
  reason: 'connect ECONNREFUSED 127.0.0.1:3000',
})

/** @param logged requests that the service responded to */
function saidOf(logged: number, ...others: readonly Ended[]): string | null {
  const tally = createTrialTally(SERVICE)
  for (const other of others) tally.leftOut(other)
  return leftOutText(logged, tally)
}

describe('what a trial says at its end of requests that are no line of its log', () => {
  test('no request came', () => expect(saidOf(0)).toBe('No request came, so no configuration is suggested.'))

  test('all are lines', () => expect(saidOf(5)).toBeNull())

  test('all got 502, and why', () => {
    expect(saidOf(0, UNREACHABLE, UNREACHABLE, UNREACHABLE)).toBe(
      `3 requests came and got no response of the service, so no configuration is suggested:
  3 got 502: http://127.0.0.1:3000 cannot be reached (connect ECONNREFUSED 127.0.0.1:3000)`,
    )
  })

  test('some are lines, and others are of several kinds, the most frequent first', () => {
    const own = ended({ outcome: 'answered', clientStatus: 200 })
    const ambiguous = ended({ error: 'bad_request', reason: 'Bearer abc\u001b[2J' })
    const gone = ended({ outcome: 'aborted', clientStatus: 499 })
    const late = ended({ outcome: 'failed', error: 'upstream_timeout', clientStatus: 504 })
    expect(saidOf(7, ambiguous, own, own, gone, gone, gone, late)).toBe(
      `7 requests got no response of the service and will not count:
  3 got no response: the client left before it
  2 got 200: the gateway has this path for itself
  1 got 400: the gateway refused it, bad_request (Bearer [hidden]\\u{1b}[2J)
  1 got 504: http://127.0.0.1:3000 took too long`,
    )
  })

  test('one that is refused on its connection counts, a connection without a request does not', () => {
    const tally = createTrialTally(SERVICE)
    const refused = { requestId: 'r', method: null, error: 'headers_too_large', reason: null } as const
    tally.hear({ type: 'bad_connection', code: 'request_timeout', status: 408 })
    tally.hear({ type: 'stopped' })
    expect(tally.total).toBe(0)
    tally.hear({ type: 'bad_connection', code: 'headers_too_large', status: 431, refused })
    expect(leftOutText(0, tally)).toBe(
      `1 request came and got no response of the service, so no configuration is suggested:
  1 got 431: the gateway refused it, headers_too_large`,
    )
  })
})
