import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
// The gateway loads it when somebody connects, in the middle of a test then.
import '../../src/admin/listener.ts'
import { type App, createApp } from '../../src/app/app.ts'
import type { Config } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/load.ts'
import type { Observation, RequestDone } from '../../src/observe/observation.ts'
import { gatewayDocument } from '../../src/reference/document.ts'
import { shareOf } from '../../src/workers/share.ts'
import { documentOfAdmin } from '../setup/admin-document.ts'
import { atEnd } from '../setup/at-end.ts'
import { hold, isOfGateway } from '../setup/own-responses.ts'

/** An upstream that remembers what it saw: its log is the truth that charges are held against. */
export interface Upstream {
  readonly url: string
  readonly seen: Seen[]
  close(): Promise<void>
}

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

type Respond = (seen: Seen, res: http.ServerResponse) => void

/** @param port of a new one that takes the place of one that ended */
export async function startUpstream(respond: Respond = (_seen, res) => res.end('ok'), port = 0): Promise<Upstream> {
  const seen: Seen[] = []
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { method = '', url = '', headers } = req
      const entry = { method, url, headers, body: Buffer.concat(chunks).toString() }
      seen.push(entry)
      respond(entry, res)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: atEnd(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}

/** How many requests of each user it saw. */
export function countByUser({ seen }: Upstream): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { headers } of seen) {
    const user = String(headers['x-tollgate-user'])
    counts.set(user, (counts.get(user) ?? 0) + 1)
  }
  return counts
}

export interface RunningApp {
  readonly url: string
  readonly admin: string
  readonly app: App
  readonly observations: Observation[]
  /** The records of requests, in the order in which they ended. */
  requests(): RequestDone[]
  reload(yaml: string): Promise<void>
  stop(): Promise<void>
}

export const SECRET = 'a-shared-secret-of-forty-characters-long'

/**
 * The parts of a test configuration that hardly ever matter.
 * @param more of `upstream`, such as `tls: { … }`
 */
export function yaml(upstream: string, rest: string, store = 'sqlite::memory:', more = ''): string {
  return `
listen: 127.0.0.1:0
upstream: { url: "${upstream}", ${more} }
store: "${store}"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }]
  gateway_tokens: true
log: { level: fatal, requests: none }
${rest}
`
}

export function understood(text: string): { config: Config; hash: string } {
  const loaded = parseConfig(text, 'test.yaml', {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

/** Of the page, which a test may also ask for below another path. */
function documentOf(config: Config): object {
  const { path = '/reference', document = null } = config.reference ?? {}
  const made = documents.get(config) ?? gatewayDocument({ config, path, upstream: document })
  documents.set(config, made)
  return made
}
const documents = new WeakMap<Config, object>()

/** The page and its files are described by nothing. */
function isOfPage({ reference }: Config, url: string): boolean {
  const path = url.replace(/^https?:\/\/[^/]*/i, '').split('?', 1)[0] ?? ''
  try {
    return reference !== null && decodeURIComponent(path).startsWith(reference.path)
  } catch {
    return false
  }
}

/** @param workers as one worker of so many. Default the whole gateway */
export async function startApp(text: string, workers = 1): Promise<RunningApp> {
  const observations: Observation[] = []
  const { config: whole, hash } = understood(text)
  const config = workers === 1 ? whole : shareOf(whole, workers)
  const app = await createApp({ config, hash, version: 'test', observe: (o) => observations.push(o) })
  const { gateway, admin } = await app.start()
  atEnd(() => expect(observations.filter(({ type }) => type === 'internal_error')).toEqual([]))
  let inForce = config
  const reload: App['reload'] = async (next, ...rest) => {
    await app.reload(next, ...rest)
    inForce = next
  }
  const release = [
    hold(gateway, {
      document: () => documentOf(inForce),
      isOwn: (head, url) => isOfGateway(head) && !(/^HTTP\S+ [23]/.test(head) && isOfPage(inForce, url)),
    }),
    hold(admin, { document: () => documentOfAdmin() }),
  ]
  return {
    url: gateway,
    admin,
    app: { ...app, reload },
    observations,
    requests: () => observations.filter((o) => o.type === 'request'),
    reload: async (next) => {
      const { config, hash } = understood(next)
      await reload(config, hash)
    },
    stop: atEnd(async () => {
      await app.stop()
      for (const end of release) end()
    }),
  }
}
