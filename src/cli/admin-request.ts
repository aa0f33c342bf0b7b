import { once } from 'node:events'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import { json } from 'node:stream/consumers'
import { isLoopback } from '../config/addresses.ts'
import { adminAddress, defaultAdminAddress } from '../config/admin-address.ts'
import { messageOf } from '../errors.ts'

/** Questions of one command to the admin listener of the gateway that runs on this machine. */

/** For the whole response. */
const TIMEOUT_MS = 2000

/** Where it is, by the configuration file. */
export interface AdminPlace {
  /** URL without a path. */
  readonly origin: string
  /** What it needs to be asked for more than probes: nothing on a loopback address. */
  readonly token: string | null
  /** Why it is the default one; empty if the file says it. */
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

/** A gateway that listens on all addresses is asked on the loopback one. */
function reachedBy(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host
}

/** Only the file is known here: a gateway that runs reports nowhere where it listens. */
const MOVED = 'a gateway whose admin.listen was changed has the one before until it is restarted'

/** A response, with its body read as JSON if that is wanted; or why there is none. */
export type Asked = { readonly status: number; readonly body: unknown } | { readonly failure: string }

export interface Question {
  readonly method: string
  readonly url: string
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Whether more than the status is wanted. */
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

/** The name of this machine is in no certificate, and what is sent does not leave it. */
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
