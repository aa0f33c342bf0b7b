import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { jwtOf } from '../e2e/jwt.ts'

/** What became of one request, as its client saw it. */
export interface Asked {
  readonly id: string
  readonly gateway: string
  readonly category: string
  readonly user: string
  /** 0: the connection broke before the answer was whole. */
  readonly status: number
  /** The gateway's own code for a refusal, or the error of the connection. */
  readonly error: string
  readonly headers: http.IncomingHttpHeaders
  /** When it was settled, on the monotonic clock. */
  readonly at: number
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  /** Its idempotency key, which its path has too instead of an id of its own: the same request each time. */
  readonly key?: string
}

/** Far longer than any answer may take; what is not settled by then hangs. */
const HANGS_MS = 20_000

let asked = 0
/** Good far longer than the clocks of any test are apart. */
const YEAR = { exp: Math.floor(Date.now() / 1000) + 365 * 86_400 }
const credentials = new Map<string, string>()

function credentialOf(user: string): string {
  const known = credentials.get(user) ?? `Bearer ${jwtOf(user, { ...YEAR, org: organisationOf(user) })}`
  credentials.set(user, known)
  return known
}

/** What stands before the last `-` of a user; none if there is none. */
function organisationOf(user: string): string | undefined {
  return /^(.+)-[^-]*$/.exec(user)?.[1]
}

/** A client with connections of its own, which are kept alive. */
export class Client {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

  /** Sends `/CATEGORY/ID` with an id of its own, or its key. Never rejects. */
  ask(gateway: string, category: string, user: string, options: AskOptions = {}): Promise<Asked> {
    const id = `r${++asked}`
    const { method = 'POST', body = '', key } = options
    const { promise, resolve } = Promise.withResolvers<Asked>()
    let headers: http.IncomingHttpHeaders = {}
    const settle = (status: number, error: string): void => {
      clearTimeout(hangs)
      resolve({ id, gateway, category, user, status, error, headers, at: performance.now() })
    }
    const req = http.request(`${gateway}/${category}/${key ?? id}`, {
      method,
      agent: this.#agent,
      headers: {
        authorization: credentialOf(user),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(method === 'POST' && { 'content-length': String(Buffer.byteLength(body)) }),
      },
    })
    const hangs = setTimeout(() => {
      settle(0, 'HANGS')
      req.destroy()
    }, HANGS_MS)
    req.on('error', (error: NodeJS.ErrnoException) => settle(0, error.code ?? error.message))
    req.on('response', (res) => {
      headers = res.headers
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', (error: NodeJS.ErrnoException) => settle(0, error.code ?? error.message))
      res.on('end', () => settle(res.statusCode ?? 0, codeIn(Buffer.concat(chunks).toString())))
    })
    req.end(body)
    return promise
  }

  close(): void {
    this.#agent.destroy()
  }
}

function codeIn(body: string): string {
  if (!body.startsWith('{')) return ''
  return String((JSON.parse(body) as { error?: unknown }).error ?? '')
}

/** A GET with a credential, as JSON; asked again while the store is just coming back. */
export async function readJson<T>(url: string, user: string): Promise<T> {
  for (let tries = 0; ; tries++) {
    const response = await fetch(url, { headers: { authorization: credentialOf(user) } })
    if (response.status === 200) return (await response.json()) as T
    const text = await response.text()
    if (response.status !== 503 || tries === 100) throw new Error(`${url}: ${response.status} ${text}`)
    await sleep(50)
  }
}
