import type { IncomingHttpHeaders } from 'node:http'
import { type Answer, type Route, refusal } from './answer.ts'
import { isOurHost } from './hosts.ts'
import type { Login } from './login.ts'

const HOST_NOT_ALLOWED = refusal(
  'host_not_allowed',
  'The admin listener does not answer to this host name: use its address, or localhost.',
)
const NOT_FROM_BROWSERS = refusal('not_from_browsers', 'This is for probes and scripts, not for a page in a browser.')

/** Decides before the body is read whether a request may go on; `null` where it may. */
export function createGuard(login: Login, names: readonly string[]) {
  return function check(guard: Route['guard'], headers: IncomingHttpHeaders, address: string): Answer | null {
    if (guard === 'open') return null
    if (!isOurHost(headers.host, names)) return HOST_NOT_ALLOWED
    if (guard === 'token') return login(headers.authorization, address)
    return isFromPage(headers) ? NOT_FROM_BROWSERS : null
  }
}

/** An image tag in any page can send a GET; a browser then names where it comes from in one of these. */
function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-site'] !== undefined || headers.origin !== undefined || headers.referer !== undefined
}
