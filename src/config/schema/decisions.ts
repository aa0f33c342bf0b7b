import { z } from 'zod'
import { parseListen } from '../addresses.ts'
import { domain } from './domain.ts'
import { secret } from './listen.ts'
import { flag, or, read, section } from './values.ts'

/** The listener at which other proxies, and services, ask whether a request may go on. */

const REFUSALS = [429, 403] as const

export const decisions = domain(
  section(
    {
      listen: or(read('an address like 127.0.0.1:8082, or unix:PATH', parseListen), '127.0.0.1:8082').describe(
        'Where proxies and services ask, as HOST:PORT, or unix:PATH with a path relative to this file. Any address except a loopback address needs a token',
      ),
      token: secret(
        'The token that each proxy and service must send in X-Tollgate-Token. It has 16 to 1024 visible ASCII characters. No default',
      ).optional(),
      refuse_with: z
        .literal(REFUSALS, { error: 'expected 429 or 403' })
        .describe(
          'The status with which the gateway refuses here. With 429 it sends the status that a client would get, for example 404 or 429. With 403 it always sends 403 (except for 401) and names the real status in X-Tollgate-Status. nginx needs 403, because auth_request only understands 2xx, 401 and 403. Default 429',
        )
        .default(429),
      sends_body: or(flag(), false).describe(
        'Whether every proxy and service that asks also sends the body of the request, as Envoy can do with with_request_body, Traefik with forwardBody, and a service with body. If not, a price in the body needs otherwise or missing',
      ),
    },
    'Lets proxies and services that forward or serve requests themselves ask the gateway whether a request may pass. Default none',
  ),
  {},
)
