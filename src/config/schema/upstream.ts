import { z } from 'zod'
import { MAX_SOCKET_PATH, parseHost, parseUpstream } from '../addresses.ts'
import {
  HEADER_VALUE,
  identityNameProblem,
  nameProblem,
  parseFact,
  quotaFieldProblem,
  removedNameProblem,
  repeatedName,
} from '../headers.ts'
import { clientTls } from './client-tls.ts'
import { domain } from './domain.ts'
import { choice, duration, either, flag, integer, list, read, section, size, text, wanted } from './values.ts'

/** The upstream. */

function nameOf(problemOf: (name: string) => string | null) {
  return z
    .string({ error: ({ input }) => wanted('the name of a header', input) })
    .refine((name) => problemOf(name) === null, { error: ({ input }) => problemOf(String(input)) ?? '' })
}

const headerName = nameOf(nameProblem)

/** Each name once, in whatever letter case. */
function named<V extends z.ZodType>(name: z.ZodString, value: V, what: string) {
  return z.record(name, value, { error: ({ input }) => wanted(what, input) }).superRefine((record, context) => {
    const twice = repeatedName(Object.keys(record))
    if (twice === undefined) return
    const message = `header ${twice} is here twice in different letter case: remove one of them`
    context.addIssue({ code: 'custom', message, path: [twice] })
  })
}

const headerValue = text({
  max: 8192,
  what: 'a header value',
  ifEmpty: 'write a header value, or name the header in upstream.remove_headers to take it off',
})
  .regex(HEADER_VALUE, {
    error: 'has a character that no header may have: write visible ASCII, without line ends',
  })
  .describe('The value')

export const headers = named(headerName, headerValue, 'a map of header names to values')
  .transform((record): ReadonlyMap<string, string> => {
    return new Map(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]))
  })
  .describe('Fixed headers for the upstream, for example a shared secret. They replace those of the client')

const LENIENCIES = ['bare_lf', 'control_bytes', 'identity_coding', 'line_without_colon', 'equal_lengths'] as const

const lenient = list(choice(LENIENCIES).describe('A fault'), 0, LENIENCIES.length).describe(
  'Faults in the head of a response to let pass, each only where the upstream needs it; else such a response is 502: bare_lf (lines that end in LF alone), control_bytes (each becomes a blank; never NUL), identity_coding (Transfer-Encoding: identity, dropped), line_without_colon (dropped), equal_lengths (Content-Length more than once with one value). Default none',
)

const buffer = either('0, or a size with its unit, like 256KiB', [
  z.literal(0, { error: ({ input }) => wanted('0, or a size with its unit, like 256KiB', input) }),
  size('64KiB', '1GiB').describe('Bytes'),
]).describe(
  'How much of a response is read from the upstream ahead of a client that reads slowly, so that the connection to the upstream is free as soon as the rest fits in: 0 (nothing), or 64KiB to 1GiB. Default 256KiB',
)

const unchunk = either('0, or a size with its unit, like 64KiB', [
  z.literal(0, { error: ({ input }) => wanted('0, or a size with its unit, like 64KiB', input) }),
  size('1KiB', '1MiB').describe('Bytes'),
]).describe(
  'Up to which length a body in chunks is waited for and sent with Content-Length, since servers of WSGI and FastCGI know no body without one; a longer one stays in chunks. 0 (all stay), or 1KiB to 1MiB. Default 64KiB',
)

const fact = read('user, organisation, plan, or claim PATH', parseFact).describe(
  'user, organisation, plan, or claim and its path, like claim email',
)

const identity = named(
  nameOf(identityNameProblem),
  fact,
  'a map of header names to user, organisation, plan or claim PATH',
)
  .refine((record) => Object.keys(record).length <= 50, { error: 'has more than 50 headers: remove some' })
  .transform((record): ReadonlyMap<string, z.output<typeof fact>> => new Map(Object.entries(record)))
  .describe(
    'Headers that tell the upstream who asks, beside X-Tollgate-User, of verified callers only; up to 50. A client’s own never pass',
  )

const tls = clientTls(
  'TLS to the upstream, only with an https url. Certificates are always verified',
  'Name to expect in the upstream’s certificate. Default the host of url',
)

export const upstream = domain(
  section(
    {
      url: read('the upstream’s address, like http://127.0.0.1:9000', parseUpstream)
        .optional()
        .describe(
          'The address of your service: http or https, host and port, and perhaps a path that is put before the one of each request. Required unless socket is there',
        ),
      socket: text({ max: MAX_SOCKET_PATH, what: 'the path of a Unix socket' })
        .optional()
        .describe(
          'A Unix socket, relative to this file, on which the upstream is reached instead of host and port of url. The default of url is then http://localhost',
        ),
      host: read('preserve, upstream, or a name', parseHost)
        .prefault('preserve')
        .describe(
          'The Host that the upstream gets: preserve (the client’s), upstream (that of url), or a name. Not preserve: Location, Content-Location, Refresh and the Domain of cookies that name the upstream are rewritten to what the client asked. Default preserve',
        ),
      connect_timeout: duration('1ms', '10m')
        .prefault('2s')
        .describe(
          'How long a connection to the upstream may take to be made; then the request gets 502. 1ms to 10m. Default 2s',
        ),
      connect_retry: duration('0s', '10m')
        .prefault('0s')
        .describe(
          'How long a request waits while the upstream takes no connections, as while it restarts: nothing was sent, so any method may. 0s to 10m. Default 0s, which is not to wait',
        ),
      response_timeout: duration('1ms', '24h')
        .prefault('30s')
        .describe(
          'How long the upstream may take until the head of its response has come; then the request gets 504. 1ms to 24h. Default 30s',
        ),
      idle_timeout: duration('1ms', '24h')
        .prefault('60s')
        .describe(
          'How long a response may pause between two pieces of its body; then it is broken off. 1ms to 24h. Default 60s',
        ),
      keep_alive: duration('1ms', '10m')
        .prefault('4s')
        .describe(
          'How long a free connection is kept, where the upstream does not announce less, 1ms to 10m. Default 4s',
        ),
      connection_max_age: duration('1s', '24h')
        .prefault('5m')
        .describe(
          'How old a connection may become, or up to a fifth less, before it takes no further request. The next connection looks up the name of the upstream again, 1s to 24h. Default 5m',
        ),
      max_connections: integer(1, 65_535)
        .default(256)
        .describe('How many connections to the upstream there may be at a time, 1 to 65535. Default 256'),
      queue_timeout: duration('1ms', '10m')
        .prefault('2s')
        .describe('The longest wait for a free connection; then 503 overloaded. 1ms to 10m. Default 2s'),
      max_header_size: size('1KiB', '1MiB')
        .prefault('32KiB')
        .describe('How long the head of a response may be; a longer one gets 502, 1KiB to 1MiB. Default 32KiB'),
      buffer: buffer.prefault('256KiB'),
      buffer_total: size('64KiB', '64GiB')
        .prefault('64MiB')
        .describe(
          'How much of all responses together may wait in memory for slow clients, 64KiB to 64GiB. Default 64MiB',
        ),
      headers: headers.prefault({}),
      identity: identity.prefault({}),
      quota_field: nameOf(quotaFieldProblem)
        .describe(
          'A header that says to the upstream how each charged request stands to the quota, like X-Tollgate-Quota: state=within|over|shadow, category, remaining, reset, plan, as a dictionary of RFC 9651. A client’s own never passes. Default none',
        )
        .optional(),
      remove_headers: list(nameOf(removedNameProblem), 0, 100)
        .default([])
        .describe(
          'Headers of requests that the upstream does not get, also those that the gateway adds, like X-Request-Id',
        ),
      via: flag()
        .default(false)
        .describe(
          'Whether the upstream gets Via, for which nginx, APISIX and IIS send responses without compression by default. Default false',
        ),
      pass_authorization: flag()
        .default(false)
        .describe('Whether the upstream sees the client’s credential. Default false'),
      reuse_after_body: flag()
        .default(true)
        .describe(
          'Whether a connection serves another request after one with a body. false for an upstream that may leave a body unread and take it for a request. Default true',
        ),
      unchunk: unchunk.prefault('64KiB'),
      lenient: lenient.default([]),
      tls: tls.optional(),
    },
    'Your service, to which requests are forwarded (the upstream), and how it is reached',
    'upstream: { url: http://127.0.0.1:9000 }',
  ),
  {
    connect_timeout: 'connectTimeoutMs',
    connect_retry: 'connectRetryMs',
    response_timeout: 'responseTimeoutMs',
    idle_timeout: 'idleTimeoutMs',
    keep_alive: 'keepAliveMs',
    connection_max_age: 'connectionMaxAgeMs',
    queue_timeout: 'queueTimeoutMs',
  },
)
