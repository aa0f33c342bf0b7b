import net, { type AddressInfo } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { listening } from '../setup/listening.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { rawExchange } from './raw.ts'

/** An old upstream, byte by byte, and what a client gets of its responses with `upstream.lenient` and without. */

const RESPONSES: Readonly<Record<string, readonly [fault: string, bytes: string]>> = {
  '/lf': ['bare_lf', 'HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok'],
  '/control': ['control_bytes', 'HTTP/1.1 200 OK\r\nX-A: a\x01\x7fb\r\nContent-Length: 2\r\n\r\nok'],
  '/identity': ['identity_coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok'],
  '/colon': ['line_without_colon', 'HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nok'],
  '/lengths': ['equal_lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
}
/** Nothing lets these pass. */
const SPLIT: Readonly<Record<string, string>> = {
  '/cr': 'HTTP/1.1 200 OK\r\nX-A: 1\rSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok',
  '/nul': 'HTTP/1.1 200 OK\r\nX-A: 1\0\r\nContent-Length: 2\r\n\r\nok',
  '/unequal': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!',
}

let server: net.Server
let connections = 0
let app: RunningApp
beforeAll(async () => {
  server = net.createServer((socket) => {
    connections++
    socket.on('error', () => {})
    socket.on('data', (head) => {
      const path = /^GET (\S+) /.exec(head.toString('latin1'))?.[1] ?? ''
      socket.write(RESPONSES[path]?.[1] ?? SPLIT[path] ?? '', 'latin1')
    })
  })
  await listening(server)
})

async function start(lenient: readonly string[]): Promise<void> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rest = 'routes: [{ match: "GET /*", public: true }]'
  app = await startApp(yaml(url, rest, undefined, `lenient: [${lenient.join(', ')}]`))
}

const get = (path: string): Promise<string> => rawExchange(app.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)

test.each(Object.entries(RESPONSES))(
  'a response at %s passes by the name of its fault, told in the log and counted',
  async (path, [fault]) => {
    await start([fault])
    const before = connections
    const [first, second] = [await get(path), await get(path)]
    expect(second.replace(/\r\n(?:X-Request-Id|Date): .*/g, '')).toBe(
      first.replace(/\r\n(?:X-Request-Id|Date): .*/g, ''),
    )
    expect(first).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/)
    // The one line with controls has blanks instead, and none has a line end of its own.
    expect(first).not.toMatch(/[^\r\n -~]|(?<!\r)\n|\r(?!\n)/)
    expect(first.match(/^content-length: 2\r$/gim)).toHaveLength(1)
    expect(connections - before).toBe(2)
    expect(app.requests().map(({ lenient }) => lenient)).toEqual([[fault], [fault]])
    const metrics = await (await fetch(`${app.admin}/metrics`)).text()
    expect(metrics).toContain(`tollgate_lenient_requests_total{fault="${fault}"} 2\n`)
  },
)

test('without its name the same response is 502, and what could split a response is 502 with every name', async () => {
  await start([])
  for (const path of [...Object.keys(RESPONSES), ...Object.keys(SPLIT)])
    expect(await get(path), path).toMatch(/^HTTP\/1\.1 502 /)
  expect(app.requests().every(({ lenient }) => lenient.length === 0)).toBe(true)
  await start(Object.values(RESPONSES).map(([fault]) => fault))
  for (const path of Object.keys(SPLIT)) expect(await get(path), path).toMatch(/^HTTP\/1\.1 502 /)
})
