import { describe, expect, it } from 'vitest'
import { beginTrace } from '../../src/gateway/trace.ts'
import { idsIn, isSampled } from '../../src/lib/trace-context.ts'
import { uuid } from '../../src/lib/uuid.ts'

const came = (traceId: string, flags = '00') => ({ traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` })
const begun = (sample: 'parent' | number, headers: Record<string, string> = {}, id = uuid(), isTrusted = true) =>
  beginTrace(headers, id, sample, isTrusted).traceparent

describe('a share of the traces', () => {
  const ids = Array.from({ length: 4000 }, () => uuid().replaceAll('-', ''))

  it.each([0, 0.01, 0.25, 1])('a share of the traces of %d is about that many, whatever their flags say', (share) => {
    const sampled = ids.filter((id, i) => isSampled(begun(share, came(id, i % 2 === 0 ? '01' : '00')))).length
    expect(Math.abs(sampled / ids.length - share)).toBeLessThan(0.04)
    if (share === 0 || share === 1) expect(sampled).toBe(share * ids.length)
  })

  it('a share of the traces has all of a smaller share, so that services with other shares see whole traces', () => {
    const of = (share: number) => new Set(ids.filter((id) => isSampled(begun(share, came(id)))))
    expect(of(0.1).isSubsetOf(of(0.3))).toBe(true)
  })

  it('a share of the traces is no matter of the id or the flag that a stranger sends: he has neither all of his requests in it, nor none', () => {
    for (const last of ['f'.repeat(14), '0'.repeat(14)]) {
      const strange = came(`${'a'.repeat(18)}${last}`, '01')
      const sampled = ids.filter((id) => isSampled(begun(0.25, strange, id, false))).length
      expect(Math.abs(sampled / ids.length - 0.25)).toBeLessThan(0.04)
    }
  })

  it('a share of the traces of 0 has not even the last id', () => {
    expect(isSampled(begun(0, came('f'.repeat(32))))).toBe(false)
  })
})

it('a span has an id of its own for each request of one trace, also where a proxy gives them one request id', () => {
  const spans = Array.from({ length: 100 }, () => idsIn(begun('parent', {}, 'from-a-proxy')))
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(100)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})

it('a span follows the flag of its parent, and is recorded without one', () => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736'
  expect([came(id, '01'), came(id, '00'), {}].map((headers) => isSampled(begun('parent', headers)))).toEqual([
    true,
    false,
    true,
  ])
})
