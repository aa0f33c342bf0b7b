import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import { parseArgs } from 'node:util'
import { type AdminAddress, adminAddress, defaultAdminAddress } from '../config/admin-address.ts'
import { messageOf } from '../errors.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'

/** Until the head of the answer; of the rest nothing is read. */
const TIMEOUT_MS = 2000

/** Asks the gateway that runs with a configuration on this machine whether it lives, for the health check of a container. */
export async function healthcheck(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: CONFIG_OPTION })
  const told = await adminAddress(configFile(values.config), process.env)
  const url = probeUrl('value' in told ? told.value : defaultAdminAddress())
  const origin = 'problem' in told ? `, the default, since ${told.problem}` : ''
  const failure = await ask(url)
  if (failure === null) console.log(`alive: ${url}${origin}`)
  else console.error(`not alive: ${url}${origin}: ${failure}`)
  return failure === null ? 0 : 1
}

/** What listens on all addresses is asked on the loopback one. */
function probeUrl({ host, port, encrypted }: AdminAddress): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : isIPv6(host) ? `[${/^[0:]+$/.test(host) ? '::1' : host}]` : host
  return `${encrypted ? 'https' : 'http'}://${name}:${port}/livez`
}

/** Only the file is known here: a gateway that runs tells nobody where it listens. */
const MOVED = 'a gateway whose admin.listen was changed has the one before until it is restarted'

/** What speaks against it, `null` for nothing. */
async function ask(url: string): Promise<string | null> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const [answer] = (await once(get(url, signal), 'response')) as [IncomingMessage]
    answer.destroy()
    return answer.statusCode === 200 ? null : `status ${answer.statusCode}`
  } catch (error) {
    if (signal.aborted) return `no answer within ${TIMEOUT_MS / 1000} seconds`
    return `${messageOf(error)}; ${MOVED}`
  }
}

/** Nothing secret is sent, and the name of this machine is in no certificate. */
function get(url: string, signal: AbortSignal): http.ClientRequest {
  return url.startsWith('https:') ? https.get(url, { signal, rejectUnauthorized: false }) : http.get(url, { signal })
}
