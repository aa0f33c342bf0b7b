import { z } from 'zod'
import { parseListen } from '../addresses.ts'
import { domain } from './domain.ts'
import { secret } from './listen.ts'
import { flag, read, section } from './values.ts'

/** Where other proxies, and services, ask whether a request may go on. */

const REFUSALS = [429, 403] as const

export const decisions = domain(
  section(
    {
      listen: read('an address like 127.0.0.1:8082, or unix:PATH', parseListen)
        .prefault('127.0.0.1:8082')
        .describe(
          'Where they ask: HOST:PORT, or unix:PATH, relative to this file. Any address but a loopback one needs a token. Default 127.0.0.1:8082',
        ),
      token: secret(
        'What each of them sends in X-Tollgate-Token, 16 to 1024 visible ASCII characters. No default',
      ).optional(),
      refuse_with: z
        .literal(REFUSALS, { error: 'expected 429 or 403' })
        .describe(
          'The status of a refusal: 429 is the gateway’s own, of whatever kind. 403 is for nginx, whose auth_request knows 2xx, 401 and 403 only: then X-Tollgate-Status has the gateway’s own. Default 429',
        )
        .default(429),
      sends_body: flag()
        .default(false)
        .describe(
          'Whether all who ask send the body of the request too, as Envoy does by with_request_body, Traefik by forwardBody, and a service by body. Unless they do, a cost in the body needs otherwise or missing. Default false',
        ),
    },
    'Decisions for proxies that forward requests themselves. Default none',
  ),
  {},
)
