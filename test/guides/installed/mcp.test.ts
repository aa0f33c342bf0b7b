import http from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SECRET } from '../../e2e/harness.ts'
import { bearer } from '../../e2e/jwt.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { listening } from '../../setup/listening.ts'
import { type RunningGuide, startGuide } from '../page.ts'

/** docs/guides/mcp.md, with client and server of the SDK for TypeScript. */

interface Transport {
  handleRequest(req: http.IncomingMessage, res: http.ServerResponse): Promise<void>
}
interface McpServer {
  registerTool(name: string, about: object, run: (given: object) => Promise<object>): void
  connect(transport: Transport): Promise<void>
  close(): Promise<void>
}
interface Client {
  connect(transport: object): Promise<void>
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  callTool(call: { readonly name: string; readonly arguments?: object }): Promise<{ readonly content: unknown }>
  close(): Promise<void>
}

const sdk = createRequire(guideTool('rpc'))
const { Client } = sdk('@modelcontextprotocol/sdk/client/index.js') as { Client: new (about: object) => Client }
const { StreamableHTTPClientTransport } = sdk('@modelcontextprotocol/sdk/client/streamableHttp.js')
const { McpServer } = sdk('@modelcontextprotocol/sdk/server/mcp.js') as { McpServer: new (about: object) => McpServer }
const { StreamableHTTPServerTransport } = sdk('@modelcontextprotocol/sdk/server/streamableHttp.js')

/** The tools that were called, in their order. */
const called: string[] = []

function toolServer(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' })
  for (const name of ['search', 'fetch', 'report']) {
    server.registerTool(name, { description: name }, async () => {
      called.push(name)
      return { content: [{ type: 'text', text: name }] }
    })
  }
  return server
}

/** A server without sessions: each request has one of its own. */
const service = http.createServer(async (req, res) => {
  const server = toolServer()
  const transport: Transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  res.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(req, res)
})
let guide: RunningGuide
const clients: Client[] = []

beforeAll(async () => {
  await listening(service)
  const jwt = { issuer: 'https://id.test', audience: 'tollgate', secret: SECRET, algorithms: ['HS256'] }
  guide = await startGuide('mcp', {
    upstream: (service.address() as AddressInfo).port,
    also: [
      [['tls'], undefined],
      [['auth'], { jwt: [jwt] }],
      [['quota', 'baselines', 'personal', 'read'], { '1h': 12 }],
    ],
  })
})
afterAll(async () => {
  for (const client of clients) await client.close()
})

async function clientOf(user: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const url = new URL(`http://127.0.0.1:${guide.door.port}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: bearer(user) } }))
  clients.push(client)
  return client
}

async function used(user: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${guide.door.port}/me/quota`, { headers: bearer(user) })
  return ((await response.json()) as { windows: { read: { used: number }[] } }).windows.read[0]?.used ?? -1
}

it('lets a client of MCP begin and list tools for nothing, and charges each tool by its name', async () => {
  const client = await clientOf('alice')
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['search', 'fetch', 'report'])
  expect(await used('alice')).toBe(0)
  const { content } = await client.callTool({ name: 'search' })
  expect(content).toEqual([{ type: 'text', text: 'search' }])
  await client.callTool({ name: 'fetch', arguments: { id: 7 } })
  expect([await used('alice'), called]).toEqual([7, ['search', 'fetch']])
})

it('refuses a tool that no longer fits, which the server is not asked for, and the session goes on', async () => {
  const client = await clientOf('bob')
  called.length = 0
  await expect(client.callTool({ name: 'report' })).rejects.toThrow(/429|quota/)
  expect([await used('bob'), called]).toEqual([0, []])
  await client.callTool({ name: 'fetch' })
  expect((await client.listTools()).tools).toHaveLength(3)
  expect([await used('bob'), called]).toEqual([2, ['fetch']])
})
