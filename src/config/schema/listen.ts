import { z } from 'zod'
import { isTokenName } from '../../control/access-key-record.ts'
import { parseHostPort, parseSubnet } from '../addresses.ts'
import { ADMIN_NAME } from '../admin-name.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { oidc, role, trusted } from './people.ts'
import { shares } from './shares.ts'
import { choice, duration, either, flag, integer, list, read, section, size, text, wanted } from './values.ts'

/** What the gateway itself listens on, and what it lets in. */

const hostPort = (description: string) => read('an address like 127.0.0.1:8080', parseHostPort).describe(description)

export const listen = hostPort('Where clients connect: HOST:PORT, IPv6 in brackets. Default 0.0.0.0:8080')

const pem = (description: string) =>
  text({ what: 'the path of a PEM file' }).describe(
    `${description}: a PEM file, relative to this file. Read again when it changes`,
  )

const listenerTls = domain(
  section(
    {
      cert: pem('Certificate, and those between it and its authority'),
      key: pem('Its private key, without a password'),
    },
    'TLS for clients: 1.2 and 1.3, HTTP/1.1',
  ),
  { cert: 'certFile', key: 'keyFile' },
)

/** Behind one address. */
const MAX_CERTIFICATES = 100

export const clientsTls = either('a map like { cert: tls.crt, key: tls.key }, or a list of them', [
  listenerTls.transform((pair) => [pair]),
  list(listenerTls, 1, MAX_CERTIFICATES).describe('Certificates, of which the first is for all other names'),
]).describe(
  'TLS for clients: 1.2 and 1.3, HTTP/1.1. Several certificates, up to 100, are chosen by the name that the client asks for; the first is for all other names, and for clients that ask for none',
)

export const workers = z
  .union([z.literal('auto'), integer(1, 256).describe('Processes')], {
    error: ({ input }) => wanted('an integer from 1 to 256, or auto', input),
  })
  .describe(
    'Processes that take requests, 1 to 256, or auto: one for each processor. Limits of connections and of requests under way are divided among them. Default 1',
  )

const TOKEN = /^[!-~]{16,1024}$/

export const secret = (description: string) =>
  text({ what: 'a token of 16 to 1024 visible ASCII characters' })
    .regex(TOKEN, {
      error: 'is not 16 to 1024 visible ASCII characters: make one with "openssl rand -hex 32"',
    })
    .describe(description)

function parseTokenName(name: string): Reading<string> {
  if (isTokenName(name)) return { value: name }
  return { problem: 'is not a name: write 1 to 64 characters, none of them a control character' }
}

export const adminToken = section(
  {
    name: read('a name', parseTokenName).describe('What the audit calls its changes by, 1 to 64 characters'),
    role: role(
      'viewer looks at everything and changes nothing; lead:acme sees and divides what the organisation acme has. Default admin',
    ).default('admin'),
    token: secret('Bearer token, 16 to 1024 visible ASCII characters'),
  },
  'A token of the admin API',
)

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*$/i

/** @returns the name in lower case */
function parseHostName(name: string): Reading<string> {
  if (HOST_NAME.test(name)) return { value: name.toLowerCase() }
  return { problem: 'is not a host name: write it without scheme, port and path, like tollgate.example.org' }
}

export const admin = section(
  {
    listen: hostPort(
      'Where probes, metrics, the admin API and the dashboard are. Default 127.0.0.1:9090; any address but a loopback one needs a token',
    ).prefault('127.0.0.1:9090'),
    tls: listenerTls.optional(),
    hosts: list(read('a host name', parseHostName).describe('A host name without its port'), 0, 100)
      .default([])
      .describe(
        'More names that the Host header may carry, besides addresses, localhost and the host of listen: those of an Ingress or a proxy in front. Default none',
      ),
    token: secret('A token named admin of role admin, 16 to 1024 visible ASCII characters. No default').optional(),
    tokens: list(adminToken, 0, 100)
      .default([])
      .describe('Named tokens of the admin API and the dashboard. Default none'),
    oidc: oidc.optional(),
    trusted: trusted.optional(),
  },
  'The listener for administrators: dashboard, admin API, probes and metrics',
).transform(({ listen, tls = null, hosts, token, tokens, oidc = null, trusted = null }) => ({
  listen,
  tls,
  hosts,
  oidc,
  trusted,
  tokens: token === undefined ? tokens : [{ name: ADMIN_NAME, role: 'admin' as const, token }, ...tokens],
}))

/** Any number. */
const NONE = z.literal('none').transform(() => null)

const orNone = (limit: z.ZodType<number, number>, description: string) =>
  z.union([NONE, limit], { error: 'expected an integer from 1 to 1000000, or none' }).describe(description)

const IN_PATH = ['encoded_slash', 'semicolon', 'empty_segment'] as const

/** Spellings of a path that are refused unless the upstream is known to take them as plain data. */
const allowInPath = list(choice(IN_PATH).describe('A spelling'), 0, IN_PATH.length)
  .transform((allowed) => ({
    encodedSlash: allowed.includes('encoded_slash'),
    semicolon: allowed.includes('semicolon'),
    emptySegment: allowed.includes('empty_segment'),
  }))
  .describe(
    'Spellings of a path to let pass, only where the upstream takes them as plain data: encoded_slash (%2F), semicolon, empty_segment (//). Default none',
  )

const LENIENCIES = [
  'underscore_names',
  'punctuation_names',
  'non_utf8_path',
  'encoded_percent',
  'encoded_backslash',
] as const

/** Requests of old clients that are refused unless the operator says so, each by its name. */
const lenient = list(choice(LENIENCIES).describe('What is let pass'), 0, LENIENCIES.length).describe(
  'What of requests to let pass, each only where a client needs it; else they are 400: underscore_names (headers with "_" in their names, forwarded unless an upstream could take one for a header that the gateway sets, reads or takes off), punctuation_names (the same with any of !#$%&\'*+.^`|~, as X.Trace), non_utf8_path (caf%E9), encoded_percent (%252F; only for an upstream that decodes once), encoded_backslash (%5C; not for Windows). Default none',
)

const says = (what: string, folds: 'fold' | 'ignore') =>
  choice(['exact', folds])
    .optional()
    .describe(`${what}: ${folds} it, as the upstream does, when a rule is looked for. Default exact`)

/** What is written stands as the upstream's word: `exact` too, of which `check` then does not warn. */
export const match = section(
  {
    case: says('Letter case (/V1/Charge)', 'fold'),
    trailing_slash: says('A slash at the end (/v1/charge/)', 'ignore'),
    trailing_dots: says('Dots and blanks at the end of a segment (/v1/charge.), which Windows drops', 'ignore'),
  },
  'Which spellings of a path are one path to the upstream. What is forwarded stays as the client wrote it',
)

type Match = z.output<typeof match>

/** The same as the look-up has it. */
export function foldingOf({ case: letters, trailing_slash: slash, trailing_dots: dots }: Partial<Match>) {
  return { case: letters === 'fold', trailingSlash: slash === 'ignore', trailingDots: dots === 'ignore' }
}

export const edge = domain(
  section(
    {
      max_body: z
        .union([NONE, size('0B', '1024GiB').describe('How long the body of a request may be; a longer one gets 413')], {
          error: 'expected a size with its unit, like 1MiB, or none',
        })
        .describe('How long the body of a request may be; a longer one gets 413, 0B to 1024GiB. Default none: any size')
        .prefault('none'),
      max_url: size('256B', '64KiB')
        .prefault('8KiB')
        .describe(
          'How long path and query of a request may be together; longer ones get 414. 256B to 64KiB. Default 8KiB',
        ),
      max_header_size: size('1KiB', '1MiB')
        .prefault('16KiB')
        .describe('Largest request head; also the longest credential, where above 8KiB. 1KiB to 1MiB. Default 16KiB'),
      headers_timeout: duration('100ms', '10m')
        .prefault('10s')
        .describe(
          'How long the head of a request may take to arrive; then the request gets 408, 100ms to 10m. Default 10s',
        ),
      keep_alive_timeout: duration('1s', '1h')
        .prefault('65s')
        .describe('How long an idle connection stays open, 1s to 1h; longer than the load balancer’s. Default 65s'),
      max_connections: integer(1, 1_000_000)
        .default(10_000)
        .describe('How many connections of clients may be open at a time, 1 to 1000000. Default 10000'),
      max_connections_per_address: orNone(
        integer(1, 1_000_000).describe('Connections from one address'),
        'Connections from one IPv4 address or IPv6 /64, 1 to 1000000, or none; trusted_proxies are exempt. Behind a load balancer all clients have its address: name it there. Default 1000',
      ).prefault(1000),
      max_in_flight: integer(1, 1_000_000)
        .default(1000)
        .describe('Requests under way at a time, 1 to 1000000; those above get 503. Default 1000'),
      max_in_flight_per_user: orNone(
        integer(1, 1_000_000).describe('Requests of one user under way'),
        'Requests and tunnels of one user under way at a time, 1 to 1000000; those above get 429. Default none: what shares allow',
      ).prefault('none'),
      shares: shares.prefault({}),
      max_tunnels: integer(1, 1_000_000)
        .default(1000)
        .describe('WebSockets open at a time, beside max_in_flight, 1 to 1000000; those above get 503. Default 1000'),
      tunnel_max_age: duration('1s', '30d')
        .prefault('24h')
        .describe('How old a WebSocket may become before it is closed, 1s to 30d. Default 24h'),
      max_lag: duration('20ms', '1m')
        .prefault('500ms')
        .describe('How late the event loop may lastingly be before new requests get 503, 20ms to 1m. Default 500ms'),
      min_upload_rate: size('1B', '1GiB')
        .prefault('500B')
        .describe(
          'Bytes a second that a client must send of a body above 64KiB, of unannounced length or after 100 Continue, 1B to 1GiB. Default 500B',
        ),
      upload_grace: duration('100ms', '10m')
        .prefault('20s')
        .describe(
          'How long such a body may stay behind that rate before the connection is closed, 100ms to 10m. Default 20s',
        ),
      half_close: choice(['abort', 'answer'])
        .default('abort')
        .describe(
          'A client that ends its side after the request: abort takes it for gone, answer still answers it and then notices clients that left only when it writes. Default abort',
        ),
      lenient: lenient.default([]),
      match: match.transform(foldingOf).prefault({}),
      allow_in_path: allowInPath.prefault([]),
      trusted_proxies: list(
        read('an address or a network like 10.0.0.0/8', parseSubnet).describe('An address or a network'),
        0,
        1000,
      )
        .default([])
        .describe(
          'Peers whose facts of the client are kept (X-Forwarded-*, Forwarded, X-Request-Id and the like): addresses or networks. Default none',
        ),
      proxy_protocol: flag()
        .default(false)
        .describe(
          'Whether peers of trusted_proxies, and they alone, begin each connection with PROXY protocol, version 1 or 2, which says the address of the client: for load balancers that pass connections on, like an AWS NLB or HAProxy in mode tcp. Default false',
        ),
    },
    'What clients may send, how fast, and how much of everything one of them may hold',
  ),
  {
    headers_timeout: 'headersTimeoutMs',
    keep_alive_timeout: 'keepAliveTimeoutMs',
    tunnel_max_age: 'tunnelMaxAgeMs',
    max_lag: 'maxLagMs',
    upload_grace: 'uploadGraceMs',
    match: 'folding',
  },
)

export const drain = domain(
  section(
    {
      delay: duration('0s', '10m')
        .prefault('0s')
        .describe(
          'How long new connections are still accepted after the signal, so that a load balancer can notice, 0s to 10m. Default 0s',
        ),
      timeout: duration('0s', '1h')
        .prefault('30s')
        .describe('How long requests under way may take after that until they are broken off, 0s to 1h. Default 30s'),
    },
    'How the gateway stops after SIGTERM or SIGINT',
  ),
  { delay: 'delayMs', timeout: 'timeoutMs' },
)

export const readiness = domain(
  section(
    {
      credentials: duration('0s', '10m')
        .prefault('60s')
        .describe(
          'How long a process that starts is not ready while it has no key set of an issuer under auth.jwt, or no response of a provider under auth.introspection, 0s to 10m. Then it is ready without. Default 60s',
        ),
    },
    'When a process that starts says on /readyz that it is ready',
  ),
  { credentials: 'credentialsMs' },
)

export const metrics = domain(
  section(
    {
      by_route: choice(['auto', 'always', 'never'])
        .default('auto')
        .describe(
          'Whether requests and their durations are counted for each rule too, in up to 24 series a rule. auto: with up to 100 rules. Default auto',
        ),
    },
    'What /metrics of the admin listener has',
  ),
  { by_route: 'byRoute' },
)

export const log = section(
  {
    level: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
      .default('info')
      .describe('The least level of the lines that are written. Default info'),
    requests: choice(['all', 'errors', 'none']).default('all').describe('Which requests get a line. Default all'),
    address: flag()
      .default(false)
      .describe(
        'Whether the line of a request has the address of its client, which is personal data. Behind edge.trusted_proxies it is the one that they name. Default false',
      ),
    path: flag()
      .default(false)
      .describe(
        'Whether the line of a request has its path as the client wrote it, which may name persons; the query is never logged. Default false',
      ),
  },
  'The log on standard output',
)
