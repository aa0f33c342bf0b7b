import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sendWhole } from '../../src/node/whole-response.ts'
import { assertNoSurprises, exchangeRaw } from '../forward/support.ts'
import { listening } from '../setup/listening.ts'

assertNoSurprises()

interface Given {
  readonly status: number
  readonly phrase?: string
  readonly headers: readonly string[]
  readonly body: string
}

function viaNode(res: ServerResponse, { status, phrase, headers, body }: Given): void {
  res.writeHead(status, phrase, [...headers])
  res.end(body, 'latin1')
}

/** Serves `/ours` and `/node` alike, but for the way that the response is sent. */
async function twoWays() {
  let given: Given = { status: 200, headers: [], body: '' }
  const server = createServer({ keepAliveTimeout: 72_000 })
  for (const event of ['request', 'checkContinue'] as const) {
    server.on(event, (req: IncomingMessage, res: ServerResponse) => {
      if (req.url === '/node') viaNode(res, given)
      else sendWhole(res, given, given.headers, given.body)
    })
  }
  const port = await listening(server)
  async function both(next: Given, request: (path: string) => string): Promise<[ours: string, node: string]> {
    given = next
    const [ours, node] = [await exchangeRaw(port, request('/ours')), await exchangeRaw(port, request('/node'))]
    return [ours.text, node.text].map((text) => text.replace(/^Date: .*GMT\r$/gm, 'Date: now\r')) as [string, string]
  }
  return both
}

const end = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const REQUESTS: Record<string, (path: string) => string> = {
  'one request': (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n${end}`,
  'three in one packet': (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(3) + end,
  'a connection that is to close': (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  'one that never gets 100 Continue': (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n${end}`,
  'HTTP/1.0': (path) => `GET ${path} HTTP/1.0\r\n\r\n`,
  HEAD: (path) => `HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n${end}`,
}

it.each(Object.entries(REQUESTS))(
  'a response that is sent whole has the bytes that Node would have sent, on %s',
  async (_what, request) => {
    const both = await twoWays()
    const text = fc.stringMatching(/^[!-~\x80-\xff]{1,20}$/)
    const field = fc.tuple(fc.constantFrom('X-A', 'ETag', 'Set-Cookie', 'Server', 'date', 'RateLimit'), text)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 201, 299, 404, 429, 500, 599),
        fc.option(fc.stringMatching(/^[\t -~\x80-\xff]{0,40}$/)),
        fc.array(field, { maxLength: 5 }),
        fc.stringMatching(/^[ -~\x80-\xff]{1,40}$/),
        async (status, phrase, fields, body) => {
          const headers = [...fields.flat(), 'Content-Length', String(body.length)]
          const [ours, node] = await both({ status, ...(phrase !== null && { phrase }), headers, body }, request)
          expect(ours).toBe(node)
        },
      ),
      { numRuns: 40 },
    )
  },
)
