import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Admin, type AdminOptions, createAdmin } from '../../src/admin/listener.ts'
import { Login } from '../../src/admin/login.ts'
import { setupOf } from '../../src/app/admin-plane.ts'
import { testAlert } from '../../src/app/alerts.ts'
import { explain } from '../../src/app/explain.ts'
import { peopleOf, proxyOf } from '../../src/app/people.ts'
import { booksOf, countedBy } from '../../src/app/retention.ts'
import type { Config } from '../../src/config/config.ts'
import { type LoadResult, parseConfig } from '../../src/config/load.ts'
import { createChangeFollower } from '../../src/control/change-follower.ts'
import { UNREAD } from '../../src/failures/adaptive.ts'
import { KnownUsers } from '../../src/quota/known-users.ts'
import { createPolicy } from '../../src/quota/policy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { documentOfAdmin } from '../setup/admin-document.ts'
import { atEnd } from '../setup/at-end.ts'
import { hold } from '../setup/own-responses.ts'

export const NOW = Date.parse('2026-11-20T10:10:00Z')
export const TOKEN = 'admin-token-of-the-tests-00000000'
export const VIEWER = 'viewer-token-of-the-tests-0000000'

export const YAML = `upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
admin: { token: ${TOKEN}, tokens: [{ name: desk, role: viewer, token: ${VIEWER} }] }
auth: { gateway_tokens: true }
quota:
  baselines:
    personal:
      read: { 1h: 120, 5h: 400 }
      write: { 1h: 60, 5h: 200 }
    global:
      read: { 1h: 1200, 5h: 4000 }
      write: { 1h: 600, 5h: 2000 }
routes:
  - { match: POST /v1/music/upsert, category: write, cost: 15 }
  - { match: "POST /v1/user/:what", category: read, cost: 2 }
  - { match: POST /v1/charge, category: write, cost: { body: chargeId, values: { 2: 10, 3: 15, 5: 25 } } }
  - { match: GET /v1/health, public: true }
  - { match: GET /v1/trial, category: read, cost: 1, shadow: true }
  - { match: GET /v1/whoami, category: read, cost: 0 }
`

/** Each test of a file has a listener of its own, and most have the same configuration. */
export function configOf(yaml: string): { config: Config; hash: string } {
  const loaded = read.get(yaml) ?? parseConfig(yaml, 'tollgate.yaml', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  if (read.size >= 20) read.clear()
  read.set(yaml, loaded)
  return loaded
}
const read = new Map<string, LoadResult>()

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent
  readonly json: any
}

export type CallOptions = {
  headers?: Record<string, string>
  body?: unknown /** Our address of the connection. */
  from?: string
}

export interface Running {
  readonly admin: Admin
  readonly login: Login
  readonly url: string
  readonly store: Store
  /** A request with the admin token, unless its headers say otherwise. Each response is held against the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** Bytes on a bare socket, and everything that comes back until it closes. */
  raw(bytes: string): Promise<string>
  /** Has a user use tokens, as a request would. */
  spend(user: string, category: string, cost: number): Promise<void>
  stop(): Promise<void>
}

export interface RunningOptions extends Partial<Omit<AdminOptions, 'store'>> {
  readonly yaml?: string
  /** A store that somebody else closes; default one of SQLite in memory, on the clock `now`. */
  readonly store?: Store
  /** Takes the place of calls of the store. */
  readonly broken?: Partial<Store>
}

/** The admin listener on a real store, as the app wires it. */
export async function startAdmin({
  yaml = YAML,
  store: given,
  broken,
  ...changes
}: RunningOptions = {}): Promise<Running> {
  const now = changes.now ?? (() => NOW)
  const { config } = configOf(yaml)
  const store = given ?? openSqliteStore({ file: ':memory:', clock: now })
  const asked = { ...store, ...broken }
  const control = createChangeFollower({ store: asked, observe: () => {} })
  const setup = setupOf(config)
  const credentials = changes.credentials ?? (() => config.admin.tokens)
  const login = new Login({ credentials, now })
  const admin = createAdmin({
    login,
    listen: { host: '127.0.0.1', port: 0 },
    credentials,
    people: () => peopleOf(config.admin.oidc),
    proxy: () => proxyOf(config.admin.trusted),
    live: () => true,
    ready: () => ({ ready: true, reasons: [] }),
    metrics: { render: async () => 'tollgate_up 1\n', contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    store: asked,
    control,
    setup: () => setup,
    adaptive: () => UNREAD,
    knownUsers: new KnownUsers({ store: asked, reserve: () => config.quota.reserve }),
    lacksStore: () => false,
    explain: (question, inForce) => explain(config, question, inForce),
    testAlert: (alert, signal) => testAlert(config, alert, signal),
    assets: null,
    version: '1.2.3',
    now,
    ...changes,
  })
  const { url } = await admin.listen()
  const release = hold(url, { document: () => documentOfAdmin(changes.drain !== undefined) })
  const books = booksOf(config)
  await store.noteCounted(countedBy(config))
  let sequence = 0
  return {
    admin,
    login,
    url,
    store,
    call: (method, path, options) => call(url, method, path, options),
    raw: (bytes) => raw(url, bytes),
    async spend(user, category, cost) {
      const limits = createPolicy({ ...config.quota, ...(books !== undefined && { books }) }).limitsOf(category)
      const charge = { user, organisation: null, category, cost, limits, forced: true } as const
      await store.settle({ instance: `test-${url}`, sequence: ++sequence, refunds: [], charges: [charge] })
    },
    stop: atEnd(async () => {
      control.close()
      await admin.close()
      release()
      if (given === undefined) await store.close()
    }),
  }
}

/** A request. */
export async function call(
  url: string,
  method: string,
  path: string,
  { headers = {}, body, from }: CallOptions = {},
): Promise<Reply> {
  const isSent = typeof body === 'string' || body instanceof Uint8Array
  const content = isSent || body === undefined ? (body ?? '') : JSON.stringify(body)
  const sent = request(new URL(url), {
    path,
    method,
    // The listener may close one that is idle while a request is on its way.
    agent: false,
    ...(from !== undefined && { localAddress: from }),
    headers: {
      authorization: `Bearer ${TOKEN}`,
      // Node leaves the length out for DELETE.
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': `${Buffer.byteLength(content)}`,
      }),
      ...headers,
    },
  })
  // The field is left out where a test gives it as nothing.
  for (const [name, value] of Object.entries(headers)) if (value === '') sent.removeHeader(name)
  sent.end(content)
  const [response] = await once(sent, 'response')
  const answer = await text(response)
  const isJson = response.headers['content-type']?.startsWith('application/json') && answer !== ''
  return {
    status: response.statusCode,
    headers: response.headers,
    text: answer,
    json: isJson ? JSON.parse(answer) : undefined,
  }
}

async function raw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  return text(socket)
}
