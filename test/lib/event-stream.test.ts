import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventReaderOf } from '../../src/lib/event-stream.ts'
import { frame } from '../gateway/model-streams.ts'

const MOST = 1000
const SSE = 'text/event-stream'

/** What is heard of a stream that comes in these pieces. */
function heard(type: string, pieces: readonly Buffer[], most = MOST): (string | null)[] {
  const data: (string | null)[] = []
  const reader = eventReaderOf(type)?.(most, (each) => data.push(each))
  for (const piece of pieces) reader?.push(piece.toString('latin1'))
  reader?.end()
  reader?.end()
  return data
}

/** Cut at places in thousandths of its length. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => Math.floor((place * bytes.length) / 1000)), bytes.length].sort(
    (a, b) => a - b,
  )
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

/** The steps of the standard one after the other, on the whole text. */
function byTheStandard(bytes: Buffer): string[] {
  const text = new TextDecoder().decode(bytes)
  const dispatched: string[] = []
  let data = ''
  // What is behind the last end of a line is no line, and an event without its empty line is none.
  for (const line of text.split(/\r\n|\r|\n/).slice(0, -1)) {
    if (line === '') {
      if (data !== '') dispatched.push(data.slice(0, -1))
      data = ''
      continue
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data += `${value}\n`
  }
  return dispatched
}

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    'data',
    'data:',
    'data: ',
    'data:  x',
    ':',
    ': ping',
    'event: a',
    'id: 1',
    'datax: 1',
    ' data: 1',
    'Data: 1',
  ),
  fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
)
const stream = fc
  .tuple(
    fc.constantFrom('', '\uFEFF'),
    fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 20 }),
    line,
  )
  .map(([mark, lines, last]) => Buffer.from(mark + lines.flat().join('') + last))
const places = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 8 })

describe('server-sent events', () => {
  it('server-sent events are heard as the standard has them, with any ends of lines, cut anywhere', () => {
    fc.assert(
      fc.property(stream, places, (bytes, cuts) => {
        expect(heard(SSE, cutAt(bytes, cuts))).toEqual(byTheStandard(bytes))
      }),
      { numRuns: 2000 },
    )
  }, 60_000)

  it('where a stream is cut makes no difference, also to events that are longer than what is held', () => {
    fc.assert(
      fc.property(stream, places, fc.integer({ min: 8, max: 40 }), (bytes, cuts, most) => {
        expect(heard(SSE, cutAt(bytes, cuts), most)).toEqual(heard(SSE, [bytes], most))
      }),
      { numRuns: 2000 },
    )
  }, 60_000)

  it('an event that is longer than what is held is skipped, and the next one is heard', () => {
    const long = 'x'.repeat(MOST + 1)
    const many = 'data: 12345678\n'.repeat(200)
    const text = `data: a\n\ndata: ${long}\ndata: b\n\ndata: c\n\n${many}\ndata: d\n\n`
    expect(heard(SSE, [Buffer.from(text)])).toEqual(['a', null, 'c', null, 'd'])
  })

  it('comments and other fields are as long as they like', () => {
    const long = 'x'.repeat(5 * MOST)
    expect(heard(SSE, [Buffer.from(`:${long}\nevent: ${long}\ndata: a\nid: ${long}\n\n`)])).toEqual(['a'])
  })
})

describe('JSON on lines', () => {
  it.each(['application/x-ndjson', 'application/jsonl; charset=utf-8', 'Application/JSON-Seq'])(
    'each line of %s is heard, the last one without its end too',
    (type) => {
      const text = '\x1E{"a":"ü"}\r\n\n{"a":2}\n{"a":3}'
      const bytes = Buffer.from(text)
      const single = Array.from(bytes, (byte) => Buffer.from([byte]))
      for (const pieces of [[bytes], single]) {
        expect(heard(type, pieces)).toEqual(['{"a":"ü"}', '{"a":2}', '{"a":3}'])
      }
      expect(heard(type, single, 7)).toEqual([null, '{"a":2}', '{"a":3}'])
    },
  )
})

describe('the frames of Amazon', () => {
  const LONG = frame({ text: 'x'.repeat(2 * MOST) })
  const WRAPPED = frame({ bytes: Buffer.from('{"a":"ü"}').toString('base64'), p: 'abc' })
  const bytes = Buffer.concat([frame({ a: 'ü' }), LONG, WRAPPED, frame({})])

  it('the data of each frame is heard, unwrapped, and a frame that is longer than what is held is skipped', () => {
    const expected = ['{"a":"ü"}', null, '{"a":"ü"}', '{}']
    const type = 'application/vnd.amazon.eventstream'
    expect(heard(type, [bytes])).toEqual(expected)
    fc.assert(
      fc.property(places, (cuts) => {
        expect(heard(type, cutAt(bytes, cuts))).toEqual(expected)
      }),
    )
  })

  it('behind a frame that is none nothing is heard', () => {
    const broken = Buffer.concat([frame({ a: 1 }), Buffer.alloc(20), frame({ a: 2 })])
    expect(heard('application/vnd.amazon.eventstream', [broken])).toEqual(['{"a":1}', null])
  })
})

it.each(['application/json', 'text/plain', 'text/event-streams', ''])(
  'a response of type "%s" is no stream',
  (type) => {
    expect(eventReaderOf(type)).toBe(null)
  },
)
