import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { canonicalTarget } from '../../src/routing/target.ts'
import { type RunningApp, startApp, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { statusesIn } from '../e2e/raw.ts'
import { isCharged, isGivenBack } from '../observe/settled.ts'
import { BOTH_WAYS, connectTo, makeCertificates, type Way } from '../setup/ways.ts'
import { budget } from './budget.ts'
import { type Sending, sendings } from './request-bytes.ts'
import { type StrictUpstream, startStrictUpstream } from './strict-backend.ts'
import { readRequests, type StrictRequest } from './strict-reader.ts'

/**
 * Random bytes that are nearly requests, cut at random places, against the whole gateway. Whatever they are: the process
 * lives; what the upstream gets is beyond doubt, and each of it is a request that a strict reader finds in the bytes, with
 * the same body; as many are charged as the upstream got.
 */

const CREDENTIAL = `Authorization: Bearer ${jwtOf('alice')}`
const surprises: unknown[] = []
const note = (surprise: unknown): void => void surprises.push(surprise)

const certificates = makeCertificates()
process.on('unhandledRejection', note).on('uncaughtException', note)
afterAll(() => {
  process.off('unhandledRejection', note).off('uncaughtException', note)
})

interface Fuzzed {
  readonly app: RunningApp
  readonly backend: StrictUpstream
}

async function start(way: Way, edge: string): Promise<Fuzzed> {
  const backend = await startStrictUpstream(certificates, way)
  const app = await startApp(
    yaml(
      backend.url,
      `
edge: { half_close: answer, upload_grace: 1s, ${edge} }
quota: { baselines: { personal: { read: { 1h: 1000000000 } }, global: { read: { 1h: 1000000000 } } } }
routes: [{ match: "* /api/*", category: read, cost: 1 }]
${certificates.listener(way)}`,
      'sqlite::memory:',
      certificates.upstream(way),
    ),
  )
  return { app, backend }
}

/** Sends everything, ends its side, and waits for the gateway to end the other. */
async function send(url: string, { text, cuts }: Sending): Promise<string> {
  const socket = connectTo(url)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let from = 0
  for (const cut of cuts) {
    if (cut > from && socket.writable) {
      socket.write(text.slice(from, cut), 'latin1')
      await sleep(1)
    }
    from = Math.max(from, cut)
  }
  if (socket.writable) socket.end(text.slice(from), 'latin1')
  const patience = setTimeout(() => note(`the gateway did not end the connection: ${JSON.stringify(text)}`), 20_000)
  await closed
  clearTimeout(patience)
  return Buffer.concat(chunks).toString('latin1')
}

const TARGETS = { encodedSlash: false, emptySegment: false, semicolon: false }

function nameOf({ method, target, body }: StrictRequest): string {
  const read = canonicalTarget(target, TARGETS)
  return JSON.stringify([method, 'problem' in read ? target : read.path + read.query, body])
}

/** What is left of `some` when everything in `all` is taken out of it, one for one. */
function unexplained(some: readonly string[], all: readonly string[]): string[] {
  const left = [...all]
  return some.filter((each) => {
    const i = left.indexOf(each)
    if (i >= 0) left.splice(i, 1)
    return i < 0
  })
}

/** Several at a time, each on a connection of its own: some answers take a second, by design. */
async function judge({ app, backend }: Fuzzed, together: readonly Sending[]): Promise<void> {
  app.observations.length = 0
  backend.reset()
  const responses = await Promise.all(together.map((sending) => send(app.url, sending)))
  const count = (type: string): number => app.observations.filter((o) => o.type === type).length
  const charged = (): number => app.observations.filter(isCharged).length - app.observations.filter(isGivenBack).length
  // The last bytes may still be on their way to the upstream.
  const deadline = performance.now() + 10_000
  while (charged() !== backend.heads() && performance.now() < deadline) await sleep(2)

  expect(surprises).toEqual([])
  expect(count('internal_error')).toBe(0)
  expect(backend.violations).toEqual([])
  expect({ heads: backend.heads() }).toEqual({ heads: charged() })
  const found = together.flatMap(({ text }) => readRequests(text).map(nameOf))
  expect(unexplained(backend.requests.map(nameOf), found)).toEqual([])
  const statuses = responses.flatMap(statusesIn)
  expect(statuses.filter((status) => [500, 502, 504].includes(status))).toEqual([])
  // `/me/quota` is answered before its body is read: what is wrong in that only ends the connection.
  const ours = app.observations.filter(
    (seen) => seen.type === 'request' && seen.route === null && seen.clientStatus === 200,
  )
  const forwarded = statuses.filter((status) => status === 200).length - ours.length
  expect(forwarded).toBeLessThanOrEqual(found.length)
}

/** What the fuzzer has found once is tried each time: here with a credential that is known, so that the answer is there first. */
const STATUS = `GET /me/quota HTTP/1.1\r\nHost: a\r\n${CREDENTIAL}\r\n`
const FOUND: [Sending[]][] = [
  [[{ text: `${STATUS}\r\n`, cuts: [] }]],
  [[{ text: `${STATUS}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n X: y\r\n\r\n`, cuts: [] }]],
]

describe.each(BOTH_WAYS)('bytes that are nearly requests, by $name', (way) => {
  it.each([
    ['bodies are streamed', ''],
    ['bodies are bounded', 'max_body: 1MiB'],
  ])(
    'bytes that are nearly requests reach the upstream only as what they are, and are charged as that, where %s',
    async (_how, edge) => {
      const fuzzed = await start(way, edge)
      const { seed, parameters } = budget(0.2, 6)
      const seen = { sendings: 0, requests: 0 }
      try {
        const several = fc.array(sendings(CREDENTIAL), { minLength: 1, maxLength: 80, size: 'max' })
        const property = fc.asyncProperty(several, async (together) => {
          await judge(fuzzed, together)
          seen.sendings += together.length
          seen.requests += fuzzed.backend.requests.length
        })
        await fc.assert(property, { ...parameters, examples: FOUND })
      } finally {
        await fuzzed.app.stop()
        fuzzed.backend.close()
      }
      console.log(
        `requests by ${way.name}: seed ${seed}, ${seen.sendings} sendings, ${seen.requests} requests reached the upstream`,
      )
      // Or it says nothing. A machine with much to do gets through a few only.
      if (seen.sendings >= 20) expect(seen.requests).toBeGreaterThan(seen.sendings / 4)
    },
    budget(0.2, 6).timeout,
  )
})
