import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { BOTH_WAYS, makeCertificates } from '../setup/ways.ts'
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts'

/** Valid HTTP that the gateway refuses all the same, as docs/edge.md lists it. */

const HOST = 'Host: a\r\n'
const chunked = (line: string): string =>
  `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${line}\r\nhello\r\n0\r\n\r\n`
const get = (fields: string): string => `GET /a HTTP/1.1\r\n${HOST}${fields}\r\n`

const REFUSED: readonly (readonly [sent: string, bytes: string, status: number, reason: string])[] = [
  ['5; a=b', chunked('5; a=b'), 400, 'a blank in the line that begins a chunk'],
  ['X.Trace', get('X.Trace: 1\r\n'), 400, 'header_name'],
  ['two `Content-Encoding`', get('Content-Encoding: gzip\r\nContent-Encoding: br\r\n'), 400, 'duplicate_header'],
  ['or `Expect`', get('Expect: 100-continue\r\nExpect: 100-continue\r\n'), 400, 'duplicate_header'],
  ['absolute form', `GET http://b/a HTTP/1.1\r\n${HOST}\r\n`, 400, 'target_form'],
  ['`TRACE`', `TRACE /a HTTP/1.1\r\n${HOST}\r\n`, 405, 'method'],
  ['`CONNECT`', `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`, 405, 'method'],
  ['VERSION-CONTROL', `VERSION-CONTROL /a HTTP/1.1\r\n${HOST}\r\n`, 501, 'a method that the parser does not know'],
  ['a transfer coding', `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400, 'framing'],
]

const LIST =
  /\n## Valid requests that are refused\n([\s\S]*?)\n## /.exec(readFileSync('docs/edge.md', 'utf8'))?.[1] ?? ''

const certificates = makeCertificates()

describe.each(BOTH_WAYS)('by $name', (way) => {
  let upstream: RawUpstream
  let app: RunningApp
  beforeAll(async () => {
    upstream = await startRawUpstream(certificates.server, way)
    const rest = `unmatched: forward\n${certificates.listener(way)}`
    app = await startApp(yaml(upstream.url, rest, 'sqlite::memory:', certificates.upstream(way)))
  })

  it.each(REFUSED)(
    '%s is refused, and its status and reason are those of the list',
    async (sent, bytes, status, reason) => {
      app.observations.length = 0
      upstream.received.length = 0
      expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([status])
      const row = LIST.split('\n').find((line) => line.includes(sent))
      expect(row).toContain(`| ${status} | \`${reason}\` |`)
      const told = app.observations.flatMap((o) => {
        if (o.type === 'request') return [o.reason]
        return o.type === 'bad_connection' && o.refused !== undefined ? [o.refused.reason] : []
      })
      expect(told).toEqual([reason])
      expect(upstream.received).toEqual([])
    },
  )
})
