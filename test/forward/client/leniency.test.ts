import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Leniency } from '../../../src/forward/client/contract.ts'
import { responseBytes } from '../../fuzz/response-bytes.ts'
import { runs } from '../../setup/runs.ts'
import { latin1, readResponse } from './read-response.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const ALL: readonly Leniency[] = ['bare_lf', 'control_bytes', 'identity_coding', 'line_without_colon', 'equal_lengths']

/** Of a response that is cut into pieces of each of these sizes. */
const read = (text: string, lenient: readonly Leniency[], size = text.length) =>
  readResponse(latin1(text), [size], true, false, lenient)

it.each<[Leniency, string, readonly string[]]>([
  ['bare_lf', 'HTTP/1.1 200 OK\nX-A: 1\r\nContent-Length: 2\n\nok', ['X-A', '1', 'Content-Length', '2']],
  ['bare_lf', `${OK}X-A: 1\r\nContent-Length: 2\r\n\nok`, ['X-A', '1', 'Content-Length', '2']],
  ['bare_lf', `${OK}X-A: 1\r\nContent-Length: 2\n\r\nok`, ['X-A', '1', 'Content-Length', '2']],
  ['control_bytes', `HTTP/1.1 200 \x01\r\nX-A: a\x01\x7fb\x1b\r\n\r\nok`, ['X-A', 'a  b']],
  ['identity_coding', `${OK}Transfer-Encoding: Identity\r\nContent-Length: 2\r\n\r\nok`, ['Content-Length', '2']],
  ['identity_coding', `${OK}Transfer-Encoding: identity\r\n\r\nok`, []],
  ['line_without_colon', `${OK}nonsense\r\nContent-Length: 2\r\n\r\nok`, ['Content-Length', '2']],
  [
    'equal_lengths',
    `${OK}Content-Length: 2\r\nX-A: 1\r\ncontent-length : 2\r\n\r\nok`,
    ['Content-Length', '2', 'X-A', '1'],
  ],
  ['equal_lengths', `${OK}Content-Length: 2,\t2\r\n\r\nok`, ['Content-Length', '2']],
])(
  'a fault that is let pass passes by its name only, and never twice on a connection: %s in %j',
  (name, text, fields) => {
    for (const size of [text.length, 1, 7]) {
      const { heard, error } = read(text, [name], size)
      expect(error).toBeNull()
      expect(heard.response()).toEqual({ status: 200, fields, body: 'ok', trailers: [] })
      expect(heard.head?.needed).toEqual([name])
      expect(readResponse(latin1(text), [size], false, false, [name]).reader.persistent).toBe(false)
      const others = ALL.filter((other) => other !== name)
      expect(read(text, others, size).heard.response()).toBeNull()
    }
  },
)

it('a fault that is let pass is named beside others of the same head, and of an interim one', () => {
  const { heard } = read('HTTP/1.1 200 OK\nnonsense\nX-A: \x01\n\nok', ALL)
  expect(heard.head?.needed).toEqual(['bare_lf', 'control_bytes', 'line_without_colon'])
  const text = `HTTP/1.1 103 Early Hints\nLink: </a>\n\n${OK}Content-Length: 2\r\n\r\nok`
  const { heard: behind, reader } = readResponse(latin1(text), undefined, false, false, ALL)
  expect(behind.response()).toMatchObject({ body: 'ok' })
  expect(reader.persistent).toBe(false)
})

it('a fault that is let pass is not needed by a response that is well formed, whose connection goes on', () => {
  const { heard, reader } = readResponse(latin1(`${OK}Content-Length: 2\r\n\r\nok`), undefined, false, false, ALL)
  expect(heard.head?.needed).toEqual([])
  expect(reader.persistent).toBe(true)
})

describe('whatever is let pass', () => {
  it.each<[what: string, text: string, lenient?: readonly Leniency[]]>([
    ['a NUL', `${OK}X-A: \0\r\n\r\n`],
    ['a NUL in a line without a colon', `${OK}X-A\0\r\n\r\n`],
    ['a lone CR', `${OK}X-A: 1\rSet-Cookie: a=b\r\n\r\n`],
    ['a lone CR before a bare LF', `${OK}X-A: 1\r\r\nContent-Length: 0\n\n`],
    ['a control byte in a name', `${OK}X\x01A: 1\r\n\r\n`],
    ['a control byte behind the version', 'HTTP/1.1\x01200 OK\r\n\r\n'],
    ['a control byte in a length', `${OK}Content-Length: 2\x01\r\n\r\nok`],
    ['a control byte in a coding', `${OK}Transfer-Encoding: chunked\x01\r\n\r\n0\r\n\r\n`],
    ['a bare LF in a line without a colon', `${OK}X\nA\r\n\r\n`, ALL.slice(1)],
    ['a folded line', `${OK}X-A: 1\r\n folded\r\n\r\n`],
    ['a status line among the fields', `${OK}X-A: 1\r\nHTTP/1.1 200 OK\r\n\r\n`],
    ['an empty name', `${OK}: 1\r\n\r\n`],
    ['identity beside chunks', `${OK}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['identity in a list', `${OK}Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n`],
    ['lengths that differ', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!`],
    ['lengths of one value in other digits', `${OK}Content-Length: 2\r\nContent-Length: 02\r\n\r\nok`],
    ['lengths in a list with an empty one', `${OK}Content-Length: 2,\r\n\r\nok`],
    ['equal lengths that are none', `${OK}Content-Length: -2, -2\r\n\r\nok`],
    ['equal lengths and chunks', `${OK}Content-Length: 2, 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a bare LF behind a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\n0\r\n\r\n`],
    ['a bare LF behind the size of a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n`],
    ['a control byte in a trailer', `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nX-T: \x01\r\n\r\n`],
  ])('whatever is let pass, %s is refused', (_what, text, lenient = ALL) => {
    for (const size of [text.length, 1]) {
      const { heard, error } = read(text, lenient, size)
      expect(error).toBeInstanceOf(Error)
      expect(heard.response()).toBeNull()
    }
  })

  const lenient = fc.subarray([...ALL], { minLength: 1 })

  it('whatever is let pass reads well formed responses as ever, and others so that what is passed on is well formed', () => {
    let mended = 0
    fc.assert(
      fc.property(responseBytes, lenient, (bytes, allowed) => {
        const strict = readResponse(bytes, [bytes.length], true)
        const { heard } = readResponse(bytes, [bytes.length], true, false, allowed)
        if (strict.heard.response() !== null) {
          expect(heard.response()).toEqual(strict.heard.response())
          expect(heard.head?.needed).toEqual([])
          return
        }
        const response = heard.response()
        if (response === null) return
        mended++
        const { status, fields, body } = response
        const lines = fields.flatMap((text, i) => (i % 2 === 0 ? [`${text}: ${fields[i + 1]}`] : []))
        const isChunked = lines.some((line) => /^transfer-encoding:/i.test(line))
        const written = isChunked && status !== 304 ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
        const text = `HTTP/1.1 ${status} \r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body === '' && isChunked ? '0\r\n\r\n' : written}`
        expect(readResponse(latin1(text), undefined, true).heard.response()).toMatchObject({ status, fields, body })
      }),
      { numRuns: 5_000 },
    )
    expect(mended).toBeGreaterThan(50)
  })

  it('whatever is let pass is read alike however it is cut into pieces', () => {
    fc.assert(
      fc.property(responseBytes, lenient, fc.integer({ min: 1, max: 40 }), (bytes, allowed, size) => {
        const whole = readResponse(bytes, [bytes.length], true, false, allowed)
        const cut = readResponse(bytes, [size], true, false, allowed)
        expect(cut.heard.response()).toEqual(whole.heard.response())
      }),
      { numRuns: runs(5_000) },
    )
  })
})
