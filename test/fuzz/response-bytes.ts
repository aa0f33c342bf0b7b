import fc from 'fast-check'

/** Bytes that are nearly HTTP responses, in latin1: mostly well-formed ones, some with a character or two changed. */

const FIELD = fc.oneof(
  fc.constantFrom('Content-Length: 3', 'Transfer-Encoding: chunked', 'Connection: close', 'Connection: keep-alive'),
  fc.constantFrom(
    'Content-Length: 03',
    'Content-Length: 3, 3',
    'Content-Length:\t3 ',
    'Transfer-Encoding: gzip',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: Chunked',
    'Upgrade: h2c',
    'Connection: upgrade',
    'X-A:',
    'X-A:\t1 \t',
    ' folded: 1',
    'X : 1',
    'x\0: 1',
  ),
  fc
    .tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), fc.stringMatching(/^[ -~\x80-\xff]{0,20}$/))
    .map((field) => field.join(': ')),
)

const EXTENSION = fc.constantFrom('', '', '', ';a', ';a=b', ';a="b; c"', ' ', '\t', ' ;a', '; a')
const TRAILERS = fc.constantFrom('', '', '', 'X-T: 1\r\n', 'X-T : 1\r\n', 'X-T: 1\n', ' X-T: 1\r\n')

const IN_CHUNKS = fc
  .tuple(fc.array(fc.tuple(fc.stringMatching(/^[ -~\x80-\xff]{1,30}$/), EXTENSION), { maxLength: 4 }), TRAILERS)
  .map(([chunks, trailers]) => {
    const parts = chunks.map(([text, extension]) => `${text.length.toString(16)}${extension}\r\n${text}\r\n`)
    return `${parts.join('')}0\r\n${trailers}\r\n`
  })

const BODY = fc.oneof(
  fc.constantFrom('', 'abc', 'abcd', '0\r\n\r\n', '3\r\nabc\r\n0\r\n\r\n'),
  IN_CHUNKS,
  fc.string({ maxLength: 20 }),
)

const STATUS_LINE = fc.oneof(
  { weight: 8, arbitrary: fc.constant('HTTP/1.1 200 OK') },
  fc.constantFrom(
    'HTTP/1.0 200 OK',
    'HTTP/1.1 204 No',
    'HTTP/1.1 304',
    'HTTP/1.1 404 ',
    'HTTP/1.1 600 x',
    'HTTP/1.2 200',
  ),
)
const INTERIM = fc.constantFrom('', '', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 'HTTP/1.1 100 \r\n\r\n')

const SPLINTER = fc.constantFrom('\r', '\n', '\r\n', '\0', ' ', ':', ';', '\t', '0', 'f', '\x7f', '\xff', '')

export const responseBytes: fc.Arbitrary<Buffer> = fc
  .record({
    interim: INTERIM,
    status: STATUS_LINE,
    fields: fc.oneof(
      { weight: 1, arbitrary: fc.array(FIELD, { maxLength: 5 }) },
      {
        weight: 1,
        arbitrary: fc.array(FIELD, { maxLength: 2 }).map((more) => ['Transfer-Encoding: chunked', ...more]),
      },
    ),
    body: BODY,
    changes: fc.oneof(fc.constant([] as [number, string][]), fc.array(fc.tuple(fc.nat(), SPLINTER), { maxLength: 2 })),
  })
  .map(({ interim, status, fields, body, changes }) => {
    let text = `${interim}${[status, ...fields].join('\r\n')}\r\n\r\n${body}`
    for (const [at, by] of changes) text = text.slice(0, at % text.length) + by + text.slice((at % text.length) + 1)
    return Buffer.from(text, 'latin1')
  })
