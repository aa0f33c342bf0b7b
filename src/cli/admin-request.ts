import { once } from 'node:events'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import { json } from 'node:stream/consumers'
import { isLoopback } from '../config/addresses.ts'
import { adminAddress, defaultAdminAddress } from '../config/admin-address.ts'
import { messageOf } from '../errors.ts'

/** Questions of a command to the admin listener of the gateway on this machine. */

/** How long the whole response may take. */
const TIMEOUT_MS = 2000

/** The place of the admin listener, from the configuration file. */
export interface AdminPlace {
  /** URL without a path. */
  readonly origin: string
  /** The credential for everything except probes; `null` if the file has none, or for a loopback address, which needs none. */
  readonly token: string | null
  /** Why this is the default address, as the end of a sentence; empty if the file could be read. */
  readonly note: string
}

export async function adminPlace(file: string): Promise<AdminPlace> {
  const found = await adminAddress(file, process.env)
  const note = 'problem' in found ? `, the default, since ${found.problem}` : ''
  const { host, port, encrypted, token } = 'value' in found ? found.value : defaultAdminAddress()
  const name = reachedBy(host)
  const origin = `${encrypted ? 'https' : 'http'}://${isIPv6(name) ? `[${name}]` : name}:${port}`
  return { origin, token: isLoopback(name) ? null : token, note }
}

/** A gateway that listens on all addresses is asked on the loopback address. */
function reachedBy(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host
}

/** Only the file is known here, because a running gateway reports its address nowhere. */
const MOVED = 'a gateway whose admin.listen was changed has the one before until it is restarted'

/** A response, with its body as JSON if that was requested; or why there is no response. */
export type Asked = { readonly status: number; readonly body: unknown } | { readonly failure: string }

export interface Question {
  readonly method: string
  readonly url: string
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the body is needed besides the status. */
  readonly readsBody: boolean
}

export async function askAdmin(question: Question): Promise<Asked> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const [response] = (await once(send(question, signal), 'response')) as [IncomingMessage]
    const status = response.statusCode ?? 0
    if (question.readsBody) return { status, body: await json(response) }
    response.destroy()
    return { status, body: null }
  } catch (error) {
    if (signal.aborted) return { failure: `no answer within ${TIMEOUT_MS / 1000} seconds` }
    return { failure: `${messageOf(error)}; ${MOVED}` }
  }
}

/** Accepts any certificate, because none has the name of this machine, and the request does not leave the machine. */
function send({ method, url, token, headers }: Question, signal: AbortSignal): ClientRequest {
  const options = {
    method,
    signal,
    headers: { ...headers, ...(token != null && { authorization: `Bearer ${token}` }) },
  }
  const request = url.startsWith('https:')
    ? https.request(url, { ...options, rejectUnauthorized: false })
    : http.request(url, options)
  return request.end()
}
