import { describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { tokensIn } from '../observe/settled.ts'
import { BOTH_WAYS, connectTo, makeCertificates, type Way } from '../setup/ways.ts'
import { startRawUpstream } from './raw-upstream.ts'

/**
 * A body whose chunks are malformed. What is known of it before the charge costs nothing and reaches nobody. The oracle:
 * requests that the upstream saw == charges == requests that were accepted.
 */

const certificates = makeCertificates()

const QUOTA = `
quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 1000000 } } } }
routes:
  - { match: POST /api/priced, category: read, cost: { body: id, values: { 2: 10 } } }
  - { match: POST /public, public: true }
  - { match: "* /api/*", category: read, cost: 1 }`

async function start(way: Way, edge = '') {
  const backend = await startRawUpstream(certificates.server, way)
  const rest = `edge: { ${edge} }\n${QUOTA}\n${certificates.listener(way)}`
  const app = await startApp(yaml(backend.url, rest, 'sqlite::memory:', `unchunk: 0, ${certificates.upstream(way)}`))
  return { app, backend }
}

const auth = `Authorization: Bearer ${jwtOf('alice')}\r\n`

function post(path: string, body: string, fields = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\n${auth}${fields}Transfer-Encoding: chunked\r\n\r\n${body}`
}

const BEHIND = `GET /api/smuggled HTTP/1.1\r\nHost: a\r\n${auth}\r\n`
const inHex = (text: string): string => text.length.toString(16)

const FORMS: readonly (readonly [what: string, body: string])[] = [
  ['a size that is no number', `ZZ\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a size with 0x', `0x2\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a size with a sign', `+2\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a size below zero', `-2\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a blank behind a size', `2 \r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a blank before a size', ` 2\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a tab behind the last size', `2\r\nab\r\n0\t\r\n\r\n${BEHIND}`],
  ['a blank before a chunk extension', `2 ;a\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['no size', `\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a size beyond 64 bits', `fffffffffffffffff\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a bare LF behind a size', `2\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a bare LF in a chunk extension', `2;\nxx\r\n${inHex(BEHIND)}\r\n0\r\n\r\n${BEHIND}`],
  ['a bare CR in a chunk extension', `2;a\rb\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a control byte in a chunk extension', `2;a\0b\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a chunk without its line break', `5\r\nAAAAAXX2\r\n45\r\n0\r\n\r\n${BEHIND}`],
  ['a chunk longer than its size', `1\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a bare LF behind the bytes of a chunk', `2\r\nab\n0\r\n\r\n${BEHIND}`],
  ['a bare LF at the end', `2\r\nab\r\n0\r\n\n${BEHIND}`],
  ['a second chunk that is malformed', `2\r\nab\r\nno size\r\nab\r\n0\r\n\r\n${BEHIND}`],
  ['a request line in the trailers', `0\r\nGET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a folded trailer', `0\r\nX-A: b\r\n c\r\n y\r\n: z\r\n\r\n${BEHIND}`],
]

/** Without 100: whoever reads the body before the charge asks for it. */
async function finalStatuses(url: string, bytes: string): Promise<number[]> {
  return statusesIn(await rawExchange(url, bytes)).filter((status) => status !== 100)
}

const charged = ({ observations }: RunningApp): number => tokensIn(observations)

const DENIED = { outcome: 'denied', error: 'bad_request', clientStatus: 400, httpStatus: null }

describe.each(BOTH_WAYS)('a body that is malformed in the packet of its head, by $name', (way) => {
  it.each([
    ['is streamed', ''],
    ['is read before the charge', 'max_body: 1MiB'],
  ])(
    'a body that is malformed in the packet of its head is charged nothing and reaches nobody, where a body %s',
    async (_how, edge) => {
      const { app, backend } = await start(way, edge)
      const paths = ['/api/a', '/api/priced', '/public']
      const requests = paths.flatMap((path) =>
        FORMS.flatMap(([what, body]) =>
          ['', 'Expect: 100-continue\r\n'].map((fields) => ({ what, path, fields, bytes: post(path, body, fields) })),
        ),
      )
      // One path after the other: a busy machine does not respond to all of them within the time of one.
      for (const path of paths) {
        const sent = requests.filter((each) => each.path === path)
        const statuses = await Promise.all(sent.map(({ bytes }) => finalStatuses(app.url, bytes)))
        expect(sent.map(({ what, fields }, i) => [what, fields, statuses[i]])).toEqual(
          sent.map(({ what, fields }) => [what, fields, [400]]),
        )
      }
      expect(app.requests()).toHaveLength(requests.length)
      for (const request of app.requests()) expect(request).toMatchObject(DENIED)
      expect([backend.received, charged(app)]).toEqual([[], 0])
    },
  )

  it('the requests before it get their responses, and are what is charged', async () => {
    const { app, backend } = await start(way)
    const before = `GET /api/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`
    const text = await rawExchange(app.url, before.repeat(3) + post('/api/b', `ZZ\r\nab\r\n0\r\n\r\n${BEHIND}`))
    expect(statusesIn(text)).toEqual([200, 200, 200, 400])
    expect(backend.lines).toEqual(Array(3).fill('GET /api/a HTTP/1.1'))
    expect(charged(app)).toBe(3)
    expect(app.requests().filter(({ outcome }) => outcome === 'forwarded')).toHaveLength(3)
  })

  it('one that is refused for another reason is refused for that one', async () => {
    const { app } = await start(way)
    const bytes = post('/api/a', 'ZZ\r\n', '').replace(auth, '')
    expect(statusesIn(await rawExchange(app.url, bytes))).toEqual([401])
    expect(app.requests()).toMatchObject([{ outcome: 'denied', error: 'unauthorized', clientStatus: 401 }])
  })
})

describe.each(BOTH_WAYS)('a body that breaks later, by $name', (way) => {
  it('a body that breaks later stays charged once the upstream has had its head, and the log says what the client got', async () => {
    const { app, backend } = await start(way)
    const socket = connectTo(app.url)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(post('/api/a', '2\r\nab\r\n'))
    await expect.poll(() => backend.received.join('')).toContain('ab')
    socket.write(`ZZ\r\nab\r\n0\r\n\r\n${BEHIND}`)
    await expect.poll(() => socket.closed).toBe(true)
    const text = Buffer.concat(chunks).toString()
    expect(statusesIn(text)).toEqual([400])
    const [, requestId] = /^X-Request-Id: (.*)$/im.exec(text) ?? []
    const told = { ...DENIED, reason: 'the body is malformed', cost: 1, requestId }
    await expect.poll(() => app.requests()).toMatchObject([told])
    expect(charged(app)).toBe(1)
    expect(backend.received.join('').match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  it('a body that breaks later costs nothing where it was still read before the charge', async () => {
    const { app, backend } = await start(way, 'max_body: 1MiB')
    const socket = connectTo(app.url)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.write(`GET /api/first HTTP/1.1\r\nHost: a\r\n${auth}\r\n${post('/api/a', '2\r\nab\r\n')}`)
    await expect.poll(() => statusesIn(Buffer.concat(chunks).toString())).toEqual([200])
    socket.write(`ZZ\r\nab\r\n0\r\n\r\n${BEHIND}`)
    await expect.poll(() => socket.closed).toBe(true)
    expect(statusesIn(Buffer.concat(chunks).toString())).toEqual([200, 400])
    expect(app.requests()).toMatchObject([{ outcome: 'forwarded' }, { ...DENIED, reason: 'the body is malformed' }])
    expect([backend.lines, charged(app)]).toEqual([['GET /api/first HTTP/1.1'], 1])
  })

  it.each([
    ['is streamed', '', 1],
    ['is read before the charge', 'max_body: 1KiB', 0],
  ])(
    'a body that breaks later ends at the first blank behind a chunk size, where a body %s',
    async (_how, edge, cost) => {
      const { app } = await start(way, edge)
      const socket = connectTo(app.url)
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.write(`GET /api/first HTTP/1.1\r\nHost: a\r\n${auth}\r\n${post('/api/a', '2\r\nab\r\n1')}`)
      await expect.poll(() => statusesIn(Buffer.concat(chunks).toString())).toEqual([200])
      await expect.poll(() => charged(app)).toBe(1 + cost)
      socket.write(' ')
      await expect.poll(() => socket.closed).toBe(true)
      expect(statusesIn(Buffer.concat(chunks).toString())).toEqual([200, 400])
      const reason = 'a blank in the line that begins a chunk'
      await expect.poll(() => app.requests().at(-1)).toMatchObject({ ...DENIED, reason })
      expect(charged(app)).toBe(1 + cost)
    },
  )

  it.each(['2; a=b', '2;a =b', '2;a= b', '2 ; a = b', '2;a\t=b', '2;a="x y" ;b', '2 ', '0 '])(
    'a body that breaks later is told so by its client and the log if it is the blank of the line "%s"',
    async (begins) => {
      const { app, backend } = await start(way)
      const text = await rawExchange(app.url, post('/api/a', `${begins}\r\nab\r\n0\r\n\r\n${BEHIND}`))
      expect(statusesIn(text)).toEqual([400])
      expect(text).toContain('has a blank behind the size, or in an extension, of a chunk')
      expect(app.requests()).toMatchObject([{ ...DENIED, reason: 'a blank in the line that begins a chunk' }])
      expect([backend.received, charged(app)]).toEqual([[], 0])
    },
  )

  it.each(['2;a=b', '2;a', '2;a;b="x y"'])(
    'a body that breaks later keeps the extension of the line "%s" to itself',
    async (begins) => {
      const { app, backend } = await start(way)
      const text = await rawExchange(app.url, post('/api/a', `${begins}\r\nab\r\n0\r\n\r\n`))
      expect(statusesIn(text)).toEqual([200])
      expect(backend.received.join('')).toContain('\r\n\r\n2\r\nab\r\n0\r\n\r\n')
    },
  )

  it('a body that breaks later comes too slowly although its chunk extension comes fast', async () => {
    const { app } = await start(way, 'upload_grace: 500ms, min_upload_rate: 500B')
    const socket = connectTo(app.url)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
    socket.write(post('/public', '1;'))
    const sending = setInterval(() => socket.write('a'.repeat(100)), 20)
    await expect.poll(() => statusesIn(Buffer.concat(chunks).toString()), { timeout: 10_000 }).toEqual([408])
    clearInterval(sending)
    await expect.poll(() => app.requests()).toMatchObject([{ reason: 'the body came too slowly' }])
  })

  it('a body that breaks later and one that comes too slowly is told so in the log, too', async () => {
    const { app, backend } = await start(way, 'upload_grace: 200ms')
    expect(statusesIn(await rawExchange(app.url, post('/api/a', '2\r\nab\r\n'), 3000))).toEqual([408])
    const denied = { outcome: 'denied', error: 'request_timeout', clientStatus: 408, httpStatus: null }
    await expect.poll(() => app.requests()).toMatchObject([{ ...denied, reason: 'the body came too slowly', cost: 1 }])
    expect(backend.received.join('')).toContain('ab')
    expect(charged(app)).toBe(1)
  })
})
