import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SECRET } from '../../e2e/harness.ts'
import { bearer } from '../../e2e/jwt.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { listening } from '../../setup/listening.ts'
import { type RunningGuide, startGuide } from '../page.ts'

/** docs/guides/json-rpc.md, with ethers in front of it and a stand-in for the node behind it. */

interface Call {
  readonly id: number
  readonly method: string
}
interface Provider {
  send(method: string, params: readonly unknown[]): Promise<unknown>
  destroy(): void
}
interface Ethers {
  readonly FetchRequest: new (url: string) => { setHeader(name: string, value: string): void; retryFunc: unknown }
  readonly JsonRpcProvider: new (request: object, network: number, options: object) => Provider
}

/** The methods of each request that the node got, as one list for a batch. */
const seen: (string | string[])[] = []
const node = http.createServer((req, res) => {
  const pieces: Buffer[] = []
  req.on('data', (piece: Buffer) => pieces.push(piece))
  req.on('end', () => {
    const asked: Call | Call[] = JSON.parse(Buffer.concat(pieces).toString())
    const answer = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: method })
    seen.push(Array.isArray(asked) ? asked.map(({ method }) => method) : asked.method)
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked)))
  })
})
let guide: RunningGuide
const providers: Provider[] = []

beforeAll(async () => {
  await listening(node)
  const jwt = { issuer: 'https://id.test', audience: 'tollgate', secret: SECRET, algorithms: ['HS256'] }
  guide = await startGuide('json-rpc', {
    upstream: (node.address() as AddressInfo).port,
    also: [
      [['tls'], undefined],
      [['auth'], { jwt: [jwt] }],
      [['quota', 'baselines', 'personal', 'read'], { '1h': 50 }],
    ],
  })
})
afterAll(async () => {
  for (const provider of providers) provider.destroy()
})

function providerOf(user: string, batchMaxCount: number): Provider {
  const { FetchRequest, JsonRpcProvider }: Ethers = createRequire(guideTool('rpc'))('ethers')
  const request = new FetchRequest(`http://127.0.0.1:${guide.door.port}/`)
  request.setHeader('Authorization', bearer(user).authorization)
  request.retryFunc = async () => false
  const provider = new JsonRpcProvider(request, 1, { staticNetwork: true, batchMaxCount })
  providers.push(provider)
  return provider
}

async function used(user: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${guide.door.port}/me/quota`, { headers: bearer(user) })
  return ((await response.json()) as { windows: { read: { used: number }[] } }).windows.read[0]?.used ?? -1
}

it('charges each call of ethers what its method costs, and a batch of them the sum', async () => {
  const one = providerOf('alice', 1)
  expect(await one.send('eth_chainId', [])).toBe('eth_chainId')
  expect(await one.send('eth_call', [{}])).toBe('eth_call')
  expect(await used('alice')).toBe(3)
  const batched = providerOf('alice', 20)
  const methods = ['eth_getLogs', 'eth_call', 'eth_gasPrice']
  expect(await Promise.all(methods.map((method) => batched.send(method, [])))).toEqual(methods)
  expect(seen.at(-1)).toEqual(methods)
  expect(await used('alice')).toBe(26)
})

it('refuses a batch of ethers whole that does not fit, and the node sees none of it', async () => {
  const batched = providerOf('bob', 20)
  const before = seen.length
  const calls = ['eth_getLogs', 'eth_call', 'eth_getLogs', 'eth_getLogs'].map((method) => batched.send(method, []))
  for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected')
  expect([seen.length, await used('bob')]).toEqual([before, 0])
  expect(await Promise.all(['eth_getLogs', 'eth_getLogs'].map((method) => batched.send(method, [])))).toHaveLength(2)
  expect(await used('bob')).toBe(40)
})

it('refuses a batch of ethers that is longer than the page allows, and charges nothing', async () => {
  const batched = providerOf('carol', 100)
  const calls = Array.from({ length: 21 }, () => batched.send('eth_chainId', []))
  for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected')
  expect(await used('carol')).toBe(0)
})
