import http from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { latin1, type ParsedResponse, readResponse } from '../forward/client/read-response.ts'
import { listening } from '../setup/listening.ts'
import { budget } from './budget.ts'
import { responseBytes } from './response-bytes.ts'
import { ALIKE, DIFFERENCES } from './response-cases.ts'

/**
 * The upstream client's parser against llhttp, which is what Node's own client reads with: both get the same bytes and the
 * end of the connection. Either they find the same response, or none, or `response-cases.ts` says why they differ.
 */

/** What a reader finds; `null` if it refuses the bytes. */
type Verdict = (ParsedResponse & { readonly interim: readonly number[] }) | null

function ours(bytes: Buffer, method: string): Verdict {
  const { heard } = readResponse(bytes, [bytes.length], true, method === 'HEAD')
  const response = heard.response()
  return response && { ...response, interim: heard.interim }
}

/** Sends to each connection the bytes that its request names, and ends it. */
let server: Server
const sendings = new Map<string, Buffer>()

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const path = /^\S+ (\S+) /.exec(head.toString('latin1'))?.[1] ?? ''
      socket.end(sendings.get(path) ?? '')
      sendings.delete(path)
    })
  })
  await listening(server)
})

let count = 0

function llhttps(bytes: Buffer, method: string): Promise<Verdict> {
  const path = `/${count++}`
  sendings.set(path, bytes)
  return new Promise((resolve) => {
    const { port } = server.address() as AddressInfo
    const limits = { maxHeaderSize: 32 * 1024, insecureHTTPParser: false }
    const request = http.request({ port, host: '127.0.0.1', path, method, agent: false, ...limits })
    const interim: number[] = []
    let hasHead = false
    request.on('information', ({ statusCode }) => interim.push(statusCode))
    // What is wrong behind a whole response does not concern that response.
    request.on('error', () => hasHead || resolve(null))
    request.on('close', () => hasHead || resolve(null))
    request.on('response', (response) => {
      hasHead = true
      let body = ''
      response.setEncoding('latin1').on('data', (text: string) => {
        body += text
      })
      response.on('error', () => {})
      response.on('close', () => {
        const { statusCode: status = 0, rawHeaders: fields, rawTrailers: trailers, complete } = response
        resolve(complete ? { status, fields, body, trailers, interim } : null)
      })
    })
    request.end()
  })
}

/** Which difference there is; `null` if there is none. */
async function judge(bytes: Buffer, method: string): Promise<'ours only' | 'llhttp only' | 'both, not alike' | null> {
  const [found, expected] = [ours(bytes, method), await llhttps(bytes, method)]
  if (found === null) return expected === null ? null : 'llhttp only'
  if (expected === null) return 'ours only'
  return JSON.stringify(found) === JSON.stringify(expected) ? null : 'both, not alike'
}

it.each(ALIKE)(
  'bytes that are written down are judged alike by both parsers: %s',
  async (_what, verdict, text, method = 'GET') => {
    expect(ours(latin1(text), method) === null ? 'refused' : 'accepted').toBe(verdict)
    expect(ours(latin1(text), method)).toEqual(await llhttps(latin1(text), method))
  },
)

it.each(DIFFERENCES.flatMap((difference) => difference.examples.map((text) => ({ ...difference, text }))))(
  'bytes that are written down are still accepted by one parser alone: $what, $text',
  async ({ accepts, applies, text }) => {
    expect(applies(text)).toBe(true)
    expect(await judge(latin1(text), 'GET')).toBe(accepts)
  },
)

it(
  'bytes that are nearly responses are judged alike by both parsers, but for the differences that are listed',
  async () => {
    const { seed, parameters, timeout: _ } = budget(0.1, 4)
    const seen = { judged: 0, accepted: 0, different: 0 }
    const property = fc.asyncProperty(responseBytes, fc.constantFrom('GET', 'GET', 'HEAD'), async (bytes, method) => {
      const text = bytes.toString('latin1')
      const difference = await judge(bytes, method)
      seen.judged++
      if (ours(bytes, method) !== null) seen.accepted++
      if (difference === null) return
      seen.different++
      const reasons = DIFFERENCES.filter(({ accepts, applies }) => accepts === difference && applies(text))
      if (reasons.length === 0) expect({ difference, ours: ours(bytes, method) }).toEqual(await llhttps(bytes, method))
    })
    await fc.assert(property, parameters)
    console.log(`responses: seed ${seed}, ${JSON.stringify(seen)}`)
    // Or it says nothing. A machine with much to do gets through a few only.
    if (seen.judged >= 100) expect(seen.accepted).toBeGreaterThan(seen.judged / 10)
  },
  budget(0.1, 4).timeout,
)
