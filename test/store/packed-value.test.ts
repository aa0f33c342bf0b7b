import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/quota/counter.ts'
import { pack, unpack } from '../../src/store/packed-value.ts'

const entry: fc.Arbitrary<Entry> = fc.record({
  seconds: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  startedAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  used: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
})

describe('a packed counter', () => {
  it('a packed counter unpacks to what it was', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 16 }), (counter) => {
        expect(unpack(pack(counter))).toEqual(counter)
      }),
    )
  })

  it('a packed counter is 16 bytes a window, big-endian: length, start, used', () => {
    const bytes = pack([{ seconds: 3600, startedAt: 0x0123456789ab, used: 120 }])
    expect(bytes.toString('hex')).toBe('00000e10' + '0123456789ab' + '000000000078')
    expect(pack([])).toHaveLength(0)
  })

  it('a packed counter unpacks also from the middle of a larger buffer', () => {
    const counter = [{ seconds: 60, startedAt: 5, used: 6 }]
    const padded = Buffer.concat([Buffer.from('xyz'), pack(counter)])
    expect(unpack(padded.subarray(3))).toEqual(counter)
    expect(unpack(new Uint8Array(padded).subarray(3))).toEqual(counter)
  })
})

describe('a value that is not ours', () => {
  it('a value that is not ours counts as nothing', () => {
    expect(unpack(null)).toEqual([])
    expect(unpack(undefined)).toEqual([])
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100, size: 'max' }), (bytes) => {
        expect(unpack(bytes)).toHaveLength(bytes.length % 16 === 0 ? bytes.length / 16 : 0)
      }),
    )
  })
})
