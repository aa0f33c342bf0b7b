import { describe, expect, it } from 'vitest'
import { idsOfRequest } from '../../src/lib/request-ids.ts'
import { idsIn, isSampled, traceparentOf } from '../../src/lib/trace-context.ts'
import { uuid } from '../../src/lib/uuid.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`

describe('a traceparent', () => {
  it.each([
    ['of version 00', VALID],
    ['of version 00 with flags that are not known yet', `00-${TRACE}-${SPAN}-ff`],
    ['of a later version', `cc-${TRACE}-${SPAN}-00`],
    ['of a later version that has more behind its flags', `cc-${TRACE}-${SPAN}-00-what-the-future`],
  ])('%s counts', (_what, traceparent) => {
    expect(traceparentOf({ traceparent })).toBe(traceparent)
    expect(idsIn(traceparent)).toEqual({ traceId: TRACE, spanId: SPAN })
  })

  it.each([
    ['of version ff', `ff-${TRACE}-${SPAN}-01`],
    ['of version 00 with more behind its flags', `${VALID}-00`],
    ['of a later version with more that is not set apart', `cc-${TRACE}-${SPAN}-00.x`],
    ['with upper-case digits', VALID.toUpperCase()],
    ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['with a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with a trace id that is too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['with a span id that is too long', `00-${TRACE}-${SPAN}0-01`],
    ['with one digit of flags', `00-${TRACE}-${SPAN}-1`],
    ['with another digit than hex', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['that came twice', `${VALID}, ${VALID}`],
    ['with a line break', `${VALID}\n`],
    ['that is empty', ''],
  ])('%s counts as none', (_what, traceparent) => {
    expect(traceparentOf({ traceparent })).toBeNull()
  })

  it('a traceparent is sampled by the last bit of its flags alone', () => {
    const flags = ['00', '01', '02', '03', 'fe', 'ff']
    expect(flags.map((each) => isSampled(`00-${TRACE}-${SPAN}-${each}`))).toEqual([
      false,
      true,
      false,
      true,
      false,
      true,
    ])
  })
})

it('a request without a traceparent has the digits of its UUID as its ids', () => {
  const id = uuid()
  const digits = id.replaceAll('-', '')
  expect(idsOfRequest(id)).toEqual({ traceId: digits, spanId: digits.slice(16) })
})

it('a request without a traceparent has the id of nginx as its ids, which is hex without dashes', () => {
  expect(idsOfRequest(TRACE)).toEqual({ traceId: TRACE, spanId: TRACE.slice(16) })
})

it.each([['r-1'], ['A'.repeat(128)], ['00000000-0000-0000-0000-000000000000'], [VALID.toUpperCase()], ['']])(
  'a request without a traceparent has valid ids of a request id of another form: %s',
  (id) => {
    const { traceId, spanId } = idsOfRequest(id)
    expect(traceparentOf({ traceparent: `00-${traceId}-${spanId}-00` })).not.toBeNull()
    expect(idsOfRequest(id)).toEqual({ traceId, spanId })
    expect(idsOfRequest(`${id}x`).traceId).not.toBe(traceId)
  },
)
