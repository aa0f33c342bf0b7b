/** What is known of how the upstream client's parser and llhttp (9.4, in Node 26.10, strict) read responses. */

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

type Case = [what: string, verdict: 'accepted' | 'refused', text: string, method?: string]

/** Both say the same. The cases cover what llhttp's own tests of responses do. */
export const ALIKE: Case[] = [
  ['a response without fields that ends with its connection', 'accepted', `${OK}\r\nall there is`],
  [
    'a response of HTTP/1.0 that says keep-alive and no length',
    'accepted',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nHTTP/1.0 200 OK',
  ],
  ['a whole response in the body of one without a length', 'accepted', `${OK}\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ['a 204', 'accepted', 'HTTP/1.1 204 No Content\r\n\r\n'],
  [
    'a 204 that closes, and bytes behind it',
    'accepted',
    'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  ],
  ['a 304 with a length', 'accepted', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n'],
  ['a 304 with chunks announced', 'accepted', 'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['a response to HEAD with a length', 'accepted', `${OK}Content-Length: 123\r\n\r\n`, 'HEAD'],
  ['a length, and bytes behind the body', 'accepted', `${OK}Content-Length: 3\r\nConnection: close\r\n\r\nabcdef`],
  ['a length between tabs', 'accepted', `${OK}Content-Length:\t3\t\r\n\r\nabc`],
  ['a length with a zero in front', 'accepted', `${OK}Content-Length: 003\r\n\r\nabc`],
  [
    'a field whose name only begins like a length',
    'accepted',
    `${OK}Content-Length-X: 0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  ],
  ['Proxy-Connection, which means nothing', 'accepted', `${OK}Proxy-Connection: close\r\nContent-Length: 2\r\n\r\nok`],
  [
    'a 100 before the response',
    'accepted',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno',
  ],
  [
    'a 103 before the response',
    'accepted',
    `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
  ],
  ['a 200 that names an upgrade', 'accepted', `${OK}Connection: upgrade\r\nUpgrade: h2c\r\n\r\nbody`],
  [
    'a 200 that names an upgrade and has a length',
    'accepted',
    `${OK}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbody`,
  ],
  [
    'a 200 that names an upgrade and has chunks',
    'accepted',
    `${OK}Connection: upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n`,
  ],
  ['no reason phrase', 'accepted', 'HTTP/1.1 301\r\n\r\n'],
  ['an empty reason phrase', 'accepted', 'HTTP/1.1 200 \r\n\r\n'],
  ['two blanks before the reason phrase', 'accepted', 'HTTP/1.1 200  OK\r\n\r\n'],
  ['a reason phrase beyond ASCII', 'accepted', 'HTTP/1.1 500 Ori\xebntatie\r\nContent-Length: 0\r\n\r\n'],
  [
    'names with an underscore, a dollar, a dot in front',
    'accepted',
    `${OK}DCLK_imp: v7;x\r\nX-$P: 1\r\n.et-Cookie: a\r\nContent-Length: 0\r\n\r\n`,
  ],
  [
    'a field without a value between others',
    'accepted',
    'HTTP/1.0 301 Moved\r\nPragma: \r\nLocation: http://a/\r\nContent-Length: 0\r\n\r\n',
  ],
  ['a value behind a tab and a blank', 'accepted', `${OK}X-A:\t a b \r\nContent-Length: 0\r\n\r\n`],
  [
    'chunks with extensions and trailers',
    'accepted',
    `${CHUNKED}5;one;two=three\r\nhello\r\n6;a="b; c"\r\n world\r\n0\r\nX-T: 1\r\n\r\n`,
  ],
  ['sizes in capitals and with zeros in front', 'accepted', `${CHUNKED}00A\r\n0123456789\r\n000\r\n\r\n`],
  ['chunks of HTTP/1.0', 'accepted', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
  ['nothing', 'refused', ''],
  ['a protocol with a letter missing', 'refused', 'HTP/1.1 200 OK\r\n\r\n'],
  ['a protocol with letters behind', 'refused', 'HTTPER/1.1 200 OK\r\n\r\n'],
  ['a zero before the major version', 'refused', 'HTTP/01.1 200 OK\r\n\r\n'],
  ['two digits of the major version', 'refused', 'HTTP/11.1 200 OK\r\n\r\n'],
  ['two digits of the minor version', 'refused', 'HTTP/1.01 200 OK\r\n\r\n'],
  ['a version that there is not', 'refused', 'HTTP/5.6 200 OK\r\n\r\n'],
  ['a tab behind the version', 'refused', 'HTTP/1.1\t200 OK\r\n\r\n'],
  ['two blanks behind the version', 'refused', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['a CR before the response, and a tab', 'refused', '\rHTTP/1.1\t200 OK\r\n\r\n'],
  ['one digit of status', 'refused', 'HTTP/1.1 2 OK\r\n\r\n'],
  ['fields apart by CR alone', 'refused', `${OK}Foo: 1\rBar: 2\r\n\r\n`],
  ['a status line that ends in CR alone', 'refused', 'HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n'],
  ['a status line that ends in two CRs', 'refused', 'HTTP/1.1 200 OK\r\rContent-Length: 4\r\n\r\nEvil'],
  ['lines that end in LF alone', 'refused', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['lines that end in LF alone, and a body', 'refused', 'HTTP/1.1 200 OK\nFoo: abc\n\nBODY\n'],
  ['a blank before the first field', 'refused', `${OK} Host: foo\r\n\r\n`],
  ['a folded line', 'refused', `${OK}X-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n`],
  [
    'a folded line behind the coding',
    'refused',
    `${OK}Transfer-Encoding: chunked\r\n  abc\r\n\r\n5\r\nWorld\r\n0\r\n\r\n`,
  ],
  ['a blank within a name', 'refused', `${OK}en-US Content-Type: text/xml\r\nContent-Length: 0\r\n\r\n`],
  ['a length and chunks', 'refused', `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunks and a length', 'refused', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`],
  ['two lengths that are the same', 'refused', `${OK}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`],
  ['a list of lengths', 'refused', `${OK}Content-Length: 3, 3\r\n\r\nabc`],
  ['a length with a sign', 'refused', `${OK}Content-Length: +3\r\n\r\nabc`],
  ['a length without digits', 'refused', `${OK}Content-Length:\r\n\r\n`],
  ['a body that is shorter than its length', 'refused', `${OK}Content-Length: 9\r\n\r\nshort`],
  ['chunks without their end', 'refused', `${CHUNKED}2\r\nok\r\n`],
  ['a chunk that is longer than its size', 'refused', `${CHUNKED}2\r\nokay\r\n0\r\n\r\n`],
  ['other bytes instead of the line break behind a chunk', 'refused', `${CHUNKED}2\r\nokXY0\r\n\r\n`],
  ['a size with a prefix', 'refused', `${CHUNKED}0x2\r\nok\r\n0\r\n\r\n`],
  ['words behind a size', 'refused', `${CHUNKED}2 words\r\nok\r\n0 words\r\n\r\n`],
  ['a bare LF in an extension', 'refused', `${CHUNKED}2;\nx\r\nok\r\n0\r\n\r\n`],
  ['a bare LF behind a chunk', 'refused', `${CHUNKED}2\r\nok\n0\r\n\r\n`],
  ['a NUL in a value', 'refused', `${OK}X-A: \0\r\nContent-Length: 0\r\n\r\n`],
  ['a DEL in a value', 'refused', `${OK}X-A: \x7f\r\nContent-Length: 0\r\n\r\n`],
  [
    'a switch of protocols that nobody asked for',
    'refused',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbodyproto',
  ],
]

interface Difference {
  readonly what: string
  readonly why: string
  readonly accepts: 'ours only' | 'llhttp only' | 'both, not alike'
  /** Whether it may be the reason for such bytes. */
  readonly applies: (text: string) => boolean
  readonly examples: readonly string[]
}

export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'a blank before a colon',
    why: 'RFC 9112 section 5.1: a proxy removes it from a response, and refuses it only in a request.',
    accepts: 'ours only',
    applies: (text) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+[\t ]+:/m.test(text),
    examples: [`${OK}X-A : 1\r\nContent-Length\t: 2\r\n\r\nok`, `${CHUNKED}0\r\nX-T : 1\r\n\r\n`],
  },
  {
    what: 'blanks behind the size of a chunk',
    why: 'Old servers pad the size. No reader takes a blank for a part of it.',
    accepts: 'ours only',
    applies: (text) => /^[0-9a-f]+[\t ]+(?:;[^\n]*)?\r$/im.test(text),
    examples: [`${CHUNKED}2  \r\nok\r\n0 \r\n\r\n`, `${CHUNKED}2 ;a\r\nok\r\n0\r\n\r\n`],
  },
  {
    what: 'an extension that has not the form of one',
    why: 'It is dropped, and cannot move the end of its line: CR, LF and other controls are refused in it.',
    accepts: 'ours only',
    applies: (text) => /^[0-9a-f]+[\t ]*;[\t -~\x80-\xff]*\r$/im.test(text),
    examples: [
      `${CHUNKED}2;\r\nok\r\n0\r\n\r\n`,
      `${CHUNKED}2; a\r\nok\r\n0\r\n\r\n`,
      `${CHUNKED}2;a="b\r\nok\r\n0\r\n\r\n`,
    ],
  },
  {
    what: 'an interim response that closes, by its version or in words',
    why: 'It is not the response that was asked for: the connection ends behind that one at the earliest.',
    accepts: 'ours only',
    applies: (text) =>
      /^HTTP\/1\.0 1\d\d/.test(text) || /^HTTP\/1\.1 1\d\d.*\r\n(?:.+\r\n)*connection[\t ]*:.*close/i.test(text),
    examples: [
      `HTTP/1.0 100 Continue\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
      `HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
    ],
  },
  {
    what: 'a coding that is not chunked',
    why: 'It would be passed on without its name, which belongs to the connection. A second one may hide the first.',
    accepts: 'llhttp only',
    applies: (text) => /^transfer-encoding[\t ]*:(?![\t ]*chunked[\t ]*\r$)/im.test(text),
    examples: [`${OK}Transfer-Encoding: gzip\r\n\r\nx`, `${OK}Transfer-Encoding: chunkedchunked\r\n\r\nx`],
  },
  {
    what: 'two codings',
    why: 'Two readers could undo them in different ways.',
    accepts: 'llhttp only',
    applies: (text) => (text.match(/^transfer-encoding[\t ]*:/gim)?.length ?? 0) > 1,
    examples: [`${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\nx`],
  },
  {
    what: 'a status outside 100 to 599',
    why: 'RFC 9110 section 15: such a status is invalid.',
    accepts: 'llhttp only',
    applies: (text) => /^HTTP\/1\.[01] (?:[06-9]\d\d)/m.test(text),
    examples: ['HTTP/1.1 600 x\r\n\r\n', 'HTTP/1.1 099 x\r\n\r\n'],
  },
  {
    what: 'HTTP/0.9 and HTTP/2.0',
    why: 'Neither has heads of this form.',
    accepts: 'llhttp only',
    applies: (text) => /^HTTP\/(?:0\.9|2\.0) /m.test(text),
    examples: ['HTTP/0.9 200 OK\r\n\r\n', 'HTTP/2.0 200 OK\r\n\r\n'],
  },
  {
    what: 'another protocol',
    why: 'llhttp reads RTSP and ICE too.',
    accepts: 'llhttp only',
    applies: (text) => /^(?:RTSP|ICE)\//m.test(text),
    examples: ['RTSP/1.1 200 OK\r\n\r\n', 'ICE/1.1 200 OK\r\n\r\n'],
  },
  {
    what: 'a control in the reason phrase',
    why: 'One rule for all of a head: what it may not hold is refused, also in the part that nobody is given.',
    accepts: 'llhttp only',
    applies: (text) => /^HTTP[^\r\n]*[^\t\r\n -~\x80-\xff]/m.test(text),
    examples: ['HTTP/1.1 200 O\0\r\nContent-Length: 0\r\n\r\n', 'HTTP/1.1 200 \x7f\r\nContent-Length: 0\r\n\r\n'],
  },
  {
    what: 'an empty line before the response',
    why: 'On a connection that has served before, it may be what is left of an earlier response.',
    accepts: 'llhttp only',
    applies: (text) => /^[\r\n]|\r\n\r\n[\r\n]+HTTP/.test(text),
    examples: [`\r\n${OK}Content-Length: 0\r\n\r\n`],
  },
]
