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
import { choice, duration, either, flag, integer, list, or, read, section, size, text, wanted } from './values.ts'

function nameOf(problemOf: (name: string) => string | null) {
  return z
    .string({ error: ({ input }) => wanted('the name of a header', input) })
    .refine((name) => problemOf(name) === null, { error: ({ input }) => problemOf(String(input)) ?? '' })
}

const headerName = nameOf(nameProblem)

/** A map by names of headers. A name may not occur twice, even in different letter case. */
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
  .describe(
    'Headers with a fixed value that the gateway adds for the upstream, for example a shared secret. They replace a header of the same name from the client',
  )

const LENIENCIES = ['bare_lf', 'control_bytes', 'identity_coding', 'line_without_colon', 'equal_lengths'] as const

const lenient = list(choice(LENIENCIES).describe('A fault'), 0, LENIENCIES.length).describe(
  'Faults in the headers of a response that the gateway lets pass instead of responding with 502. Allow each only if your upstream needs it: bare_lf (lines that end in LF alone), control_bytes (each becomes a blank; never NUL), identity_coding (Transfer-Encoding: identity, dropped), line_without_colon (dropped), equal_lengths (Content-Length more than once with one value). Default none',
)

const buffer = either('0, or a size with its unit, like 256KiB', [
  z.literal(0, { error: ({ input }) => wanted('0, or a size with its unit, like 256KiB', input) }),
  size('64KiB', '1GiB').describe('Bytes'),
]).describe(
  'How much of a response the gateway reads in advance if a client reads slowly. As soon as the rest of the response fits into this buffer, the connection to the upstream is free for other requests. 0 (no buffer), or 64KiB to 1GiB. Default 256KiB',
)

const unchunk = either('0, or a size with its unit, like 64KiB', [
  z.literal(0, { error: ({ input }) => wanted('0, or a size with its unit, like 64KiB', input) }),
  size('1KiB', '1MiB').describe('Bytes'),
]).describe(
  'Up to which length the gateway collects a body in chunks and sends it with Content-Length. Servers of WSGI and FastCGI need this, because they ignore a body without a length. A longer body stays in chunks. 0 (all bodies stay in chunks), or 1KiB to 1MiB. Default 64KiB',
)

const fact = read('user, organisation, plan, or claim PATH', parseFact).describe(
  'What the header contains: user, organisation, plan, or a claim with its path, like claim email',
)

const identity = named(
  nameOf(identityNameProblem),
  fact,
  'a map of header names to user, organisation, plan or claim PATH',
)
  .refine((record) => Object.keys(record).length <= 50, { error: 'has more than 50 headers: remove some' })
  .transform((record): ReadonlyMap<string, z.output<typeof fact>> => new Map(Object.entries(record)))
  .describe(
    'Headers that tell the upstream who the user is, in addition to X-Tollgate-User, such as { X-Remote-User: user }. Only verified callers have them. A client cannot send them itself. At most 50',
  )

const tls = clientTls(
  'TLS to the upstream, only with an https url. Certificates are always verified',
  'The name that the certificate of the upstream must have. Default the host of url',
)

export const upstream = domain(
  section(
    {
      url: read('the upstream’s address, like http://127.0.0.1:9000', parseUpstream)
        .optional()
        .describe(
          'The address of your service, with http or https, host and port, such as http://127.0.0.1:3000. If it has a path, the path of each request is appended to it. Required unless socket is set',
        ),
      socket: text({ max: MAX_SOCKET_PATH, what: 'the path of a Unix socket' })
        .optional()
        .describe(
          'A Unix socket on which the upstream listens, instead of the host and port of url. Its path is relative to this file. The default of url is then http://localhost',
        ),
      host: or(read('preserve, upstream, or a name', parseHost), 'preserve').describe(
        'The Host that the upstream gets. preserve sends the host that the client used, upstream sends the host of url, and anything else is sent as it is. Unless it is preserve, the gateway rewrites Location, Content-Location, Refresh and the Domain of cookies from the name of the upstream to the host that the client used',
      ),
      connect_timeout: or(duration('1ms', '10m'), '2s').describe(
        'How long the gateway tries to connect to the upstream. After that the request gets 502',
      ),
      connect_retry: duration('0s', '10m')
        .prefault('0s')
        .describe(
          'How long a request waits if the upstream accepts no connections, for example while it restarts. Requests of any method wait, because nothing has been sent yet. 0s to 10m. Default 0s, which is not to wait',
        ),
      response_timeout: or(duration('1ms', '24h'), '30s').describe(
        'How long the upstream may take to begin its response. After that the request gets 504',
      ),
      idle_timeout: or(duration('1ms', '24h'), '60s').describe(
        'How long a response may pause between two pieces of its body. After that the gateway breaks it off',
      ),
      keep_alive: or(duration('1ms', '10m'), '4s').describe(
        'How long the gateway keeps an idle connection to the upstream, unless the upstream announces a shorter time. Set it below the idle timeout of your service. Otherwise some requests get 502',
      ),
      connection_max_age: or(duration('1s', '24h'), '5m').describe(
        'How old a connection may become before the gateway replaces it. The new connection looks the name of the upstream up again, so a change in DNS is noticed after this time at the latest. The real age is up to a fifth less',
      ),
      max_connections: or(integer(1, 65_535), 256).describe(
        'How many connections to the upstream may be open at the same time',
      ),
      queue_timeout: or(duration('1ms', '10m'), '2s').describe(
        'How long a request waits for a free connection if all of them are busy. After that it gets 503 overloaded',
      ),
      max_header_size: or(size('1KiB', '1MiB'), '32KiB').describe(
        'The most bytes that the headers of a response may have. With more the client gets 502',
      ),
      buffer: buffer.prefault('256KiB'),
      buffer_total: or(size('64KiB', '64GiB'), '64MiB').describe(
        'How much memory the buffers of all responses may take together',
      ),
      headers: headers.prefault({}),
      identity: identity.prefault({}),
      quota_field: nameOf(quotaFieldProblem)
        .describe(
          'The name of a header that tells the upstream how much quota the user has left, such as X-Tollgate-Quota. It is a dictionary (RFC 9651) with state (within, over or shadow), category, remaining, reset and plan. A client cannot send it itself. Default none',
        )
        .optional(),
      remove_headers: list(nameOf(removedNameProblem), 0, 100)
        .default([])
        .describe(
          'Headers that the gateway removes before it forwards a request, including headers that it adds itself, like X-Request-Id',
        ),
      via: or(flag(), false).describe(
        'Whether the gateway adds the header Via. If they see Via, nginx, APISIX and IIS do not compress responses by default',
      ),
      pass_authorization: or(flag(), false).describe(
        'Whether the gateway forwards the credential of the client to the upstream',
      ),
      reuse_after_body: or(flag(), true).describe(
        'Whether a connection to the upstream is used again after a request with a body. Set false if your upstream may leave a body unread, because it would then take the rest of the body for the next request',
      ),
      unchunk: unchunk.prefault('64KiB'),
      lenient: lenient.default([]),
      tls: tls.optional(),
    },
    'Your service, to which the gateway forwards requests (the upstream)',
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
