import https from 'node:https'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { tempFolder } from '../setup/at-end.ts'
import { makeCa, makeCertificate } from '../setup/openssl.ts'
import { openRecordClient, type RecordClient } from './records.ts'

/** One stranger by TLS sends records that bring nearly nothing. Meanwhile fifty others are served, each from elsewhere. */

const OTHERS = Array.from({ length: 50 }, (_, i) => i + 1)
/** One is ended in a second and a bit, so that the last of ten would reach the time that a head may take, 10 s. */
const ATTACKERS = 8
const RECORDS = 3000

const folder = tempFolder()
let pair: string
let backend: Upstream
let app: RunningApp
const clients: RecordClient[] = []

beforeAll(() => {
  const { certFile, keyFile } = makeCertificate(folder, 'one', makeCa(folder, 'ca'), 'IP:127.0.0.1', 400)
  pair = `tls: { cert: "${certFile}", key: "${keyFile}" }`
})

beforeEach(async () => {
  backend = await startUpstream()
  const text = yaml(
    backend.url,
    `${pair}\nroutes: [{ match: "* /api/*", category: read }, { match: "* /pub/*", public: true }]`,
  )
  app = await startApp(text.replace('admin: {', `admin: { ${pair},`))
})
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy()
})

const ended = (): number =>
  app.observations.filter((o) => o.type === 'bad_connection' && o.code === 'short_records').length

function get(url: string, i: number): Promise<number | undefined> {
  const options = {
    headers: bearer(`user ${i}`),
    localAddress: `127.0.1.${i}`,
    agent: false,
    rejectUnauthorized: false,
  }
  return new Promise((resolve, reject) => {
    const request = https.get(url, options, (response) =>
      response.resume().once('end', () => resolve(response.statusCode)),
    )
    request.once('error', reject)
  })
}

async function open(url: string, localAddress?: string): Promise<RecordClient> {
  const client = await openRecordClient(Number(new URL(url).port), localAddress)
  clients.push(client)
  return client
}

const many = (count: number, one: () => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, one))

const FLOODS: [string, (client: RecordClient) => Buffer][] = [
  [
    'a head',
    ({ whole, bytes }) => Buffer.concat([whole('GET / HTTP/1.1\r\nHost: a\r\nX: '), bytes('x'.repeat(RECORDS))]),
  ],
  ['line ends', ({ bytes }) => bytes('\r\n'.repeat(RECORDS / 2))],
  ['new keys', ({ keyUpdate }) => many(RECORDS, () => keyUpdate(false))],
  ['new keys, and asks for some', ({ keyUpdate }) => many(RECORDS, () => keyUpdate(true))],
]

for (const [listener, urlOf] of [
  ['clients', () => `${app.url}/api/x`],
  ['administrators', () => `${app.admin}/livez`],
] as const) {
  it.each(FLOODS)(
    `eight connections to the listener of ${listener} send %s in the shortest records without end, and are ended`,
    async (_name, records) => {
      const url = urlOf()
      const sent: [RecordClient, Buffer][] = []
      for (let i = 0; i < ATTACKERS; i++) {
        const client = await open(url)
        sent.push([client, records(client)])
      }
      for (const [{ socket }, text] of sent) socket.write(text)
      expect([...new Set(await Promise.all(OTHERS.map((i) => get(url, i))))]).toEqual([200])
      expect(ended()).toBeGreaterThan(0)
      await expect.poll(ended, { timeout: 30_000 }).toBe(ATTACKERS)
    },
  )
}

it('one of eight addresses that send new keys without end is worked through in a turn of the event loop, and a user is served in between', async () => {
  const agent = new https.Agent({
    keepAlive: true,
    maxSockets: 1,
    localAddress: '127.0.1.1',
    rejectUnauthorized: false,
  })
  const ask = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = https.get(`${app.url}/api/x`, { headers: bearer('user 1'), agent }, (response) =>
        response.resume().once('end', () => resolve(response.statusCode)),
      )
      request.once('error', reject)
    })
  expect(await ask()).toBe(200)
  const sent: [RecordClient, Buffer][] = []
  for (let i = 0; i < ATTACKERS; i++) {
    const client = await open(app.url, `127.0.2.${i + 1}`)
    sent.push([client, many(RECORDS, () => client.keyUpdate(true))])
  }
  const inTurns: number[] = []
  let before = 0
  let isOver = false
  const count = (): void => {
    inTurns.push(ended() - before)
    before = ended()
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  for (const [{ socket }, text] of sent) socket.write(text)
  const endedBefore = ask().then(() => ended())
  await expect.poll(ended, { timeout: 30_000 }).toBe(ATTACKERS)
  isOver = true
  expect(Math.max(...inTurns)).toBe(1)
  expect(await endedBefore).toBeLessThan(ATTACKERS)
  agent.destroy()
})

it('heads in a hundred records, bodies in hundreds, and hundreds of requests on one connection are served', async () => {
  const { socket, whole, bytes, keyUpdate } = await open(app.url)
  const served = async (count: number): Promise<void> => {
    await expect.poll(() => backend.seen.length, { interval: 1, timeout: 10_000 }).toBe(count)
  }
  const body = 'x'.repeat(900)
  const head = `POST /pub/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`
  for (let i = 1; i <= 5; i++) {
    socket.write(Buffer.concat([bytes(head), keyUpdate(i > 2), bytes(body)]))
    await served(i)
  }
  for (let i = 6; i <= 300; i++) {
    socket.write(whole('GET /pub/x HTTP/1.1\r\nHost: a\r\n\r\n'))
    await served(i)
  }
  expect(backend.seen[4]?.body).toBe(body)
  expect(ended()).toBe(0)
})
