import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { describe, expect, it } from 'vitest'
import { MODEL_STREAMS, type ModelStream } from '../gateway/model-streams.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, makeCertificates, upstreamUrl, type Way } from '../setup/ways.ts'
import { type RunningApp, startApp, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What a stream costs is read as it passes: neither its bytes nor the time at which they come know of it. */

const certificates = makeCertificates()

type Respond = (res: http.ServerResponse) => unknown

/** A gateway whose one rule reserves 20 tokens, before an upstream that responds so. */
async function start(way: Way, settle: string, respond: Respond): Promise<RunningApp> {
  const responder = http.createServer((_req, res) => {
    res.on('error', () => {})
    respond(res)
  })
  const server = certificates.server(way, (socket) =>
    responder.emit(
      'connection',
      socket.on('error', () => {}),
    ),
  )
  await listening(server)
  const rest = `
quota: { baselines: { personal: { write: { 1h: 1000000 } }, global: { write: { 1h: 1000000 } } } }
routes: [{ match: "* /*", category: write, cost: 20, settle: ${settle} }]
${certificates.listener(way)}`
  const app = await startApp(yaml(upstreamUrl(way, server), rest, undefined, certificates.upstream(way)))
  atEnd(async () => {
    await app.stop()
    responder.closeAllConnections()
    server.close()
  })
  return app
}

async function open(app: RunningApp, path = '/'): Promise<http.IncomingMessage> {
  const { get } = app.url.startsWith('https') ? https : http
  const request = get(`${app.url}${path}`, {
    agent: false,
    rejectUnauthorized: false,
    headers: bearer('alice'),
  } as object)
  request.on('error', () => {})
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response.on('error', () => {})
}

async function bodyOf(response: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** Tokens of alice, when so many requests are recorded. */
async function used(app: RunningApp, requests = 1): Promise<number> {
  await expect.poll(() => app.requests().length, { timeout: 20_000 }).toBe(requests)
  const { windows } = JSON.parse(String(await bodyOf(await open(app, '/me/quota'))))
  return windows.write[0].used
}

const sources = (app: RunningApp) =>
  app.observations.flatMap((seen) => (seen.type === 'settled' && seen.kind === 'corrected' ? [seen.source] : []))

/** Sends each piece when its client has got all before it, so that whatever is held back never ends. @returns what the client got */
async function inStep(way: Way, { settle, type, body, tokens }: ModelStream, step: number): Promise<void> {
  let sent = 0
  let goOn = (): void => {}
  const app = await start(way, settle, (res) => {
    res.setHeader('Content-Type', type)
    goOn = () => {
      const piece = body.subarray(sent, sent + step)
      sent += piece.length
      if (piece.length === 0) res.end()
      else res.write(piece)
    }
    res.flushHeaders()
  })
  const response = await open(app)
  const got: Buffer[] = []
  let length = 0
  goOn()
  for await (const piece of response) {
    got.push(piece as Buffer)
    length += (piece as Buffer).length
    if (length === sent) goOn()
  }
  expect(Buffer.concat(got).equals(body)).toBe(true)
  expect(await used(app)).toBe(tokens)
  expect(sources(app)).toEqual(['response'])
}

describe.each(BOTH_WAYS)('a stream, by $name', (way) => {
  it.each(MODEL_STREAMS)(
    '$name: each piece comes before the next one is sent, and the tokens that it says are charged',
    async (stream) => {
      await inStep(way, stream, 41)
    },
  )
})

describe.each(BOTH_WAYS)('a stream with much to say, by $name', (way) => {
  const RULE = '{ json: usage.total_tokens, max: 500 }'
  const usage = 'data: {"usage":{"total_tokens":42}}\n\n'

  it('each byte comes before the next one is sent', async () => {
    await inStep(way, MODEL_STREAMS[0] as ModelStream, 1)
  })

  it('a client that reads slowly gets every byte, and is charged what the last event says', async () => {
    const events = Array.from({ length: 3000 }, (_, i) => `id: ${i}\r\ndata: {"text":"${'ü'.repeat(i % 900)}"}\r\n\r\n`)
    const body = Buffer.from(`${usage.replace('42', '41')}${events.join('')}${usage}data: [DONE]\n\n`)
    const app = await start(way, RULE, (res) => {
      res.setHeader('Content-Type', 'text/event-stream')
      for (let at = 0; at < body.length; at += 10_007) res.write(body.subarray(at, at + 10_007))
      res.end()
    })
    const response = await open(app)
    const got: Buffer[] = []
    for await (const piece of response) {
      got.push(piece as Buffer)
      if (got.length % 10 === 1) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(Buffer.concat(got).equals(body)).toBe(true)
    expect(await used(app)).toBe(42)
  })

  it.each([
    ['that its client leaves', usage, 42, 'response', (response: http.IncomingMessage) => response.destroy()],
    [
      'that its client leaves early',
      usage.replace('42', '4'),
      20,
      'unread',
      (response: http.IncomingMessage) => response.destroy(),
    ],
    ['that its upstream breaks off', 'data: {"usa', 20, 'unread', null],
  ] as const)(
    'a stream %s costs the reserve, or what it said by then if that is more',
    async (_title, said, tokens, source, leave) => {
      const app = await start(way, RULE, (res) => {
        res.setHeader('Content-Type', 'text/event-stream')
        res.write(said, () => leave === null && res.destroy())
      })
      const response = await open(app)
      await once(response, 'data')
      leave?.(response)
      expect(await used(app)).toBe(tokens)
      expect(sources(app)).toEqual([source])
    },
  )
})

it('what a response costs by its size is the bytes that the upstream sent, also to a client that leaves', async () => {
  const [way] = BOTH_WAYS as [Way]
  let isWhole = true
  const app = await start(way, '{ size: response, per: 1KiB, max: 500 }', (res) => {
    res.write(Buffer.alloc(100_000))
    if (isWhole) res.end()
  })
  expect(await bodyOf(await open(app))).toHaveLength(100_000)
  expect(await used(app)).toBe(98)
  isWhole = false
  let length = 0
  for await (const piece of await open(app)) {
    length += (piece as Buffer).length
    if (length === 100_000) break
  }
  // The request for /me/quota is one, too.
  expect(await used(app, 3)).toBe(196)
})
