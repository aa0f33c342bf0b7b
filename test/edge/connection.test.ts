import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl } from '../setup/ways.ts'

/** The states of a client connection, as the head of `src/edge/connection.ts` has them. */

const certificates = makeCertificates()

const PLAIN = { clients: false, upstream: false, name: '' }
/** Responses to `/slow` that are still to come. */
const pending: ServerResponse[] = []
const upstream = createServer((req, res) => {
  if (req.url === '/slow') pending.push(res)
  else res.end('ok')
})
beforeAll(async () => {
  await listening(upstream)
})

const get = (path: string, fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`
const CLOSE = 'Connection: close\r\n'
const GARBAGE = 'this is no request\r\n\r\n'
const AMBIGUOUS = 'GET /free HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'
const BROKEN = 'POST /free HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n'
const CONNECT = 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n'

type Row = readonly [what: string, sent: string, statuses: readonly number[], recorded: readonly number[]]

const ROWS: readonly Row[] = [
  ['garbage on an idle connection is denied, and ends it', GARBAGE + get('/free'), [400], []],
  [
    'garbage behind requests is denied behind their responses',
    get('/free').repeat(2) + GARBAGE,
    [200, 200, 400],
    [200, 200],
  ],
  ['CONNECT behind requests is denied behind their responses', get('/free') + CONNECT, [200, 405], [200, 405]],
  ['a broken body is denied behind the responses before it', get('/free') + BROKEN, [200, 400], [200, 400]],
  ['behind a request that asks for the end garbage gets no response', get('/free', CLOSE) + GARBAGE, [200], [200]],
  ['the same holds for a request that gets a response of our own', get('/dear', CLOSE) + GARBAGE, [401], [401]],
  ['behind a request that asks for the end comes no other', get('/free', CLOSE) + get('/free'), [200], [200]],
  ['behind a request that asks for the end CONNECT gets no response', get('/free', CLOSE) + CONNECT, [200], [200]],
  ['behind an ambiguous request comes no other', AMBIGUOUS + get('/free'), [400], [400]],
  ['behind an ambiguous request garbage gets no response', AMBIGUOUS + GARBAGE, [400], [400]],
  [
    'behind a request that asks for the end any number is ignored',
    get('/free', CLOSE) + get('/free').repeat(1000),
    [200],
    [200],
  ],
  ['behind one that is ignored CONNECT gets no response', get('/free', CLOSE) + get('/free') + CONNECT, [200], [200]],
  [
    'one above 32 is refused, and the last',
    get('/free').repeat(1000) + CONNECT,
    [...Array(32).fill(200), 429],
    Array(32).fill(200),
  ],
]

describe.each(BOTH_WAYS)('a connection, by $name', (way) => {
  let app: RunningApp
  beforeAll(async () => {
    const routes =
      'routes: [{ match: GET /free, public: true }, { match: GET /slow, public: true }, { match: POST /free, public: true }, { match: GET /dear, category: read, cost: 1 }]'
    const rest = `${routes}\n${certificates.listener(way)}`
    app = await startApp(yaml(upstreamUrl(PLAIN, upstream), rest, 'sqlite::memory:'))
  })
  let seen = 0
  afterEach(() => {
    seen = app.requests().length
  })

  it.each(ROWS)('%s', async (_what, sent, statuses, recorded) => {
    expect(statusesIn(await rawExchange(app.url, sent))).toEqual(statuses)
    expect(
      app
        .requests()
        .slice(seen)
        .map(({ clientStatus }) => clientStatus),
    ).toEqual(recorded)
  })

  it('requests that wait for others are worked off one in each turn of the event loop', async () => {
    const inOneTurn: number[] = []
    const count = () => {
      const requests = app.requests().length
      if (requests > seen) inOneTurn.push(requests - seen)
      seen = requests
      if (!isOver) setImmediate(count)
    }
    let isOver = false
    setImmediate(count)
    const response = await rawExchange(app.url, get('/dear').repeat(32))
    isOver = true
    expect(statusesIn(response)).toEqual(Array(32).fill(401))
    expect(inOneTurn).toEqual(Array(32).fill(1))
  })

  it('a connection whose client leaves while a request waits behind a slow one gives up both', async () => {
    const client = connectTo(app.url)
    client.write(get('/slow') + get('/free'))
    await expect.poll(() => pending.length).toBe(1)
    const [response] = pending.splice(0) as [ServerResponse]
    client.end()
    await once(response, 'close')
    const outcomes = () =>
      app
        .requests()
        .slice(seen)
        .map(({ outcome }) => outcome)
    await expect.poll(outcomes).toEqual(['aborted', 'aborted'])
    client.destroy()
  })

  it('a connection ends behind the requests that it had when it waited too long for the first response', async () => {
    const client = connectTo(app.url)
    let text = ''
    client.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
    const upload = 'POST /free HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n'
    client.write(get('/slow') + get('/free') + upload)
    await expect.poll(() => pending.length).toBe(1)
    const [response] = pending.splice(0) as [ServerResponse]
    await sleep(1500)
    response.end('ok')
    await once(client, 'end')
    expect(statusesIn(text)).toEqual([200, 200])
    expect(text.match(/^connection: .*$/gim)?.at(-1)).toBe('Connection: close')
    client.destroy()
  })
})
