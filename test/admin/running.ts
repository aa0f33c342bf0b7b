import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Admin, type AdminOptions, createAdmin } from '../../src/admin/listener.ts'
import type { TokenRecord, TokenStore } from '../../src/control/tokens.ts'

export const NOW = Date.parse('2026-11-20T10:10:00Z')
export const TOKEN = 'admin-token-of-the-tests'

/** Tokens kept in memory: the contract of TokenStore and nothing more. */
export function memoryTokens(): TokenStore & { records: TokenRecord[] } {
  const records: TokenRecord[] = []
  return {
    records,
    insertToken: async (record) => void records.unshift(record),
    findToken: async (hash) => records.find((r) => r.hash === hash) ?? null,
    listTokens: async () => [...records],
    async revokeToken(id, at) {
      const index = records.findIndex((r) => r.id === id)
      const found = records[index]
      if (found === undefined) return false
      if (found.revokedAt === null) records[index] = { ...found, revokedAt: at }
      return true
    },
  }
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent
  readonly json: any
}

export interface Running {
  readonly admin: Admin
  readonly url: string
  /** A request with the admin token, unless its headers say otherwise. */
  call(method: string, path: string, options?: { headers?: Record<string, string>; body?: unknown }): Promise<Reply>
  /** Bytes on a bare socket, and everything that comes back until it closes. */
  raw(bytes: string): Promise<string>
}

export async function startAdmin(changes: Partial<AdminOptions> = {}): Promise<Running> {
  const admin = createAdmin({
    listen: { host: '127.0.0.1', port: 0 },
    token: TOKEN,
    live: () => true,
    ready: () => ({ ready: true, reasons: [] }),
    metrics: { render: async () => 'tollgate_up 1\n', contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    failures: async () => ({ at: NOW, buckets: [] }),
    tokens: memoryTokens(),
    now: () => NOW,
    ...changes,
  })
  const { url } = await admin.listen()
  return { admin, url, call: (...args) => call(url, ...args), raw: (bytes) => raw(url, bytes) }
}

async function call(
  url: string,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
) {
  const sent = request(new URL(path, url), {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  })
  sent.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
  const [response] = await once(sent, 'response')
  const content = await text(response)
  const isJson = response.headers['content-type']?.startsWith('application/json') && content !== ''
  return {
    status: response.statusCode,
    headers: response.headers,
    text: content,
    json: isJson ? JSON.parse(content) : undefined,
  }
}

async function raw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  return text(socket)
}
