import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Format, READ, sizeOf, writeNumber } from '../../src/store/numbers.ts'

it.each(Object.keys(READ) as Format[])(
  'a number of the format %s is read as it was written, at any place',
  (format) => {
    const bits = 8 * sizeOf(format)
    const [min, max] = format.startsWith('i') ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1]
    /** Where numbers of 31 bits and of 4 bytes end. */
    const edges = [min, -1, 0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, max].filter(
      (each) => each >= min && each <= max,
    )
    const number = fc.oneof(fc.integer({ min, max }), fc.constantFrom(...edges))
    fc.assert(
      fc.property(number, fc.nat(3), (value, at) => {
        const bytes = Buffer.alloc(at + sizeOf(format), 0xff)
        writeNumber(bytes, format, value, at)
        expect(READ[format](bytes, at)).toBe(value)
      }),
    )
  },
)
