import { z } from 'zod'
import { isTokenName } from '../../control/access-key-record.ts'
import { parseHostPort, parseSubnet } from '../addresses.ts'
import { ADMIN_NAME } from '../admin-name.ts'
import type { Reading } from '../units.ts'
import { domain } from './domain.ts'
import { oidc, role, trusted } from './people.ts'
import { shares } from './shares.ts'
import { choice, duration, either, flag, integer, list, or, read, section, size, text, wanted } from './values.ts'

/** The gateway's own listeners, and what they accept. */

const hostPort = (description: string) => read('an address like 127.0.0.1:8080', parseHostPort).describe(description)

export const listen = hostPort(
  'The address and port on which clients connect, as HOST:PORT. Write an IPv6 address in brackets. Default 0.0.0.0:8080',
)

const pem = (description: string) =>
  text({ what: 'the path of a PEM file' }).describe(
    `${description}, as a PEM file whose path is relative to this file. The file is read again when it changes`,
  )

const listenerTls = domain(
  section(
    {
      cert: pem('The certificate, followed by the certificates between it and its authority'),
      key: pem('The private key of the certificate, without a password'),
    },
    'TLS for clients: 1.2 and 1.3',
  ),
  { cert: 'certFile', key: 'keyFile' },
)

/** The most certificates of one address. */
const MAX_CERTIFICATES = 100

export const clientsTls = either('a map like { cert: tls.crt, key: tls.key }, or a list of them', [
  listenerTls.transform((pair) => [pair]),
  list(listenerTls, 1, MAX_CERTIFICATES).describe(
    'Several certificates. The first one is used for all names that no other one has',
  ),
]).describe(
  'The certificate with which the gateway ends TLS (1.2 and 1.3) for clients. You can list up to 100 certificates. The gateway then chooses one by the host name that the client asks for, and uses the first one for all other names. Without tls, clients connect without TLS',
)

export const workers = z
  .union([z.literal('auto'), integer(1, 256).describe('Processes')], {
    error: ({ input }) => wanted('an integer from 1 to 256, or auto', input),
  })
  .describe(
    'The number of processes that serve requests, or auto for one process for each processor. Use more than one if a single processor core is too slow for your load. The bounds on connections and requests are divided among the processes. 1 to 256. Default 1',
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
    name: read('a name', parseTokenName).describe(
      'The name that the audit shows for changes with this token, such as deploy-script, 1 to 64 characters',
    ),
    role: role(
      'What the token may do. admin may do everything, viewer may read everything and change nothing, and lead:acme may look after the organisation acme. Default admin',
    ).default('admin'),
    token: secret(
      'The token, which scripts send as Authorization: Bearer. It has 16 to 1024 visible ASCII characters, and openssl rand -hex 32 makes a good one',
    ),
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
      'The address and port of the dashboard, the admin API, the probes and the metrics. Any address except a loopback address needs an admin token. Default 127.0.0.1:9090',
    ).prefault('127.0.0.1:9090'),
    tls: listenerTls.optional(),
    hosts: list(read('a host name', parseHostName).describe('A host name without its port'), 0, 100)
      .default([])
      .describe(
        'Host names under which people open the dashboard, for example the name of an Ingress or of a proxy in front. IP addresses, localhost and the host of listen are always accepted, and a request for any other host gets 403. Default none',
      ),
    token: secret(
      'A token with the role admin, for the dashboard and for scripts. The audit shows it under the name admin. It has 16 to 1024 visible ASCII characters. No default',
    ).optional(),
    tokens: list(adminToken, 0, 100)
      .default([])
      .describe('Further tokens for the admin API and the dashboard, each with a name and a role. Default none'),
    oidc: oidc.optional(),
    trusted: trusted.optional(),
  },
  'The listener for administrators, with the dashboard, the admin API, the probes and the metrics',
).transform(({ listen, tls = null, hosts, token, tokens, oidc = null, trusted = null }) => ({
  listen,
  tls,
  hosts,
  oidc,
  trusted,
  tokens: token === undefined ? tokens : [{ name: ADMIN_NAME, role: 'admin' as const, token }, ...tokens],
}))

/** The word `none`, which allows any number. */
const NONE = z.literal('none').transform(() => null)

const orNone = (limit: z.ZodType<number, number>, description: string) =>
  z.union([NONE, limit], { error: 'expected an integer from 1 to 1000000, or none' }).describe(description)

const IN_PATH = ['encoded_slash', 'semicolon', 'empty_segment'] as const

/** Spellings of a path that are refused unless the operator allows them by name. */
const allowInPath = list(choice(IN_PATH).describe('A spelling'), 0, IN_PATH.length)
  .transform((allowed) => ({
    encodedSlash: allowed.includes('encoded_slash'),
    semicolon: allowed.includes('semicolon'),
    emptySegment: allowed.includes('empty_segment'),
  }))
  .describe(
    'Spellings in a path that the gateway lets pass instead of refusing them with 400: encoded_slash (%2F), semicolon, and empty_segment (//). Allow a spelling only if the upstream takes it as plain data, because otherwise a client could reach an expensive path by the price of another one. Default none',
  )

const LENIENCIES = [
  'underscore_names',
  'punctuation_names',
  'non_utf8_path',
  'encoded_percent',
  'encoded_backslash',
] as const

/** Requests of old clients that are refused unless the operator allows them by name. */
const lenient = list(choice(LENIENCIES).describe('What is let pass'), 0, LENIENCIES.length).describe(
  'Unusual things in requests that the gateway lets pass instead of refusing them with 400. Allow each only if your clients need it. underscore_names allows "_" in the names of headers, and drops such a header if the upstream could mistake it for a header of the gateway. punctuation_names does the same for !#$%&\'*+.^`|~, as in X.Trace. non_utf8_path allows caf%E9. encoded_percent allows %252F, and is only for an upstream that decodes a path once. encoded_backslash allows %5C, and is not for an upstream on Windows. Default none',
)

const says = (what: string, folds: 'fold' | 'ignore') =>
  choice(['exact', folds])
    .optional()
    .describe(
      `${what}. Write ${folds} if the upstream ignores this difference, so that both spellings match the same rule. Default exact`,
    )

/** A value in the file is the operator's statement about the upstream, so `check` does not warn, even if the value is `exact`. */
export const match = section(
  {
    case: says('Whether /V1/Charge and /v1/charge are different paths', 'fold'),
    trailing_slash: says('Whether /v1/charge/ and /v1/charge are different paths', 'ignore'),
    trailing_dots: says(
      'Whether /v1/charge. and /v1/charge are different paths. Windows drops dots and blanks at the end of a segment',
      'ignore',
    ),
  },
  'Which spellings of a path the upstream treats as the same path. If the gateway did not know this, a client could write /V1/CHARGE and pay the price of another rule. The path itself is forwarded as the client wrote it',
)

type Match = z.output<typeof match>

/** Converts `match` into the form that the look-up of routes takes. */
export function foldingOf({ case: letters, trailing_slash: slash, trailing_dots: dots }: Partial<Match>) {
  return { case: letters === 'fold', trailingSlash: slash === 'ignore', trailingDots: dots === 'ignore' }
}

export const edge = domain(
  section(
    {
      max_body: z
        .union([NONE, size('0B', '1024GiB').describe('The longest body that a request may have')], {
          error: 'expected a size with its unit, like 1MiB, or none',
        })
        .describe(
          'The longest body that a request may have. A longer body gets 413. If a client announces the length, as most do, nothing is charged then. 0B to 1024GiB. Default none',
        )
        .prefault('none'),
      max_url: or(size('256B', '64KiB'), '8KiB').describe(
        'The longest path and query that a request may have together. A longer one gets 414',
      ),
      max_header_size: or(size('1KiB', '1MiB'), '16KiB').describe(
        'The most bytes that the request line and the headers may have together. A request with more gets 431. Raise it if your clients send very long cookies or tokens',
      ),
      headers_timeout: or(duration('100ms', '10m'), '10s').describe(
        'How long a client may take to send the request line and the headers. After that it gets 408',
      ),
      keep_alive_timeout: or(duration('1s', '1h'), '65s').describe(
        'How long the gateway keeps an idle connection of a client open. Set it longer than the idle timeout of a load balancer in front. Otherwise the gateway closes connections that the load balancer is about to use',
      ),
      max_connections: or(integer(1, 1_000_000), 10_000).describe(
        'How many connections of clients may be open at the same time',
      ),
      max_connections_per_address: orNone(
        integer(1, 1_000_000).describe('Connections from one address'),
        'How many connections one IPv4 address or IPv6 /64 may have open, from 1 to 1000000, or none for no such bound. It does not apply to edge.trusted_proxies. If a load balancer is in front, list it there, because all clients have its address. Default 1000',
      ).prefault(1000),
      max_in_flight: or(integer(1, 1_000_000), 1000).describe(
        'How many requests may be under way at the same time. Further requests get 503',
      ),
      max_in_flight_per_user: orNone(
        integer(1, 1_000_000).describe('Requests of one user under way'),
        'How many requests and WebSockets one user may have under way at the same time, from 1 to 1000000. Further ones get 429. With none, only shares limits them. Default none',
      ).prefault('none'),
      shares: shares.prefault({}),
      max_tunnels: or(integer(1, 1_000_000), 1000).describe(
        'How many WebSockets may be open at the same time. They do not count for max_in_flight. Further ones get 503',
      ),
      tunnel_max_age: or(duration('1s', '30d'), '24h').describe(
        'How long a WebSocket may stay open before the gateway closes it',
      ),
      max_lag: or(duration('20ms', '1m'), '500ms').describe(
        'When the process has too much work, it falls behind. If it stays behind by more than this time, new requests get 503, so that the requests under way can finish',
      ),
      min_upload_rate: or(size('1B', '1GiB'), '500B').describe(
        'How many bytes a second a client must send of a long body, so that slow clients cannot occupy the gateway. It applies to bodies above 64KiB, without an announced length, or after 100 Continue',
      ),
      upload_grace: or(duration('100ms', '10m'), '20s').describe(
        'How long a body may arrive more slowly than min_upload_rate before the gateway closes the connection',
      ),
      half_close: or(choice(['abort', 'answer']), 'abort').describe(
        'What happens if a client closes its side of the connection after the request. With abort, the gateway takes the client for gone and stops its work. With answer, it still sends the response, but then it notices only while it writes that a client has really gone',
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
          'The addresses or networks of proxies and load balancers in front of the gateway. From them, and from nobody else, the gateway believes headers such as X-Forwarded-For, X-Forwarded-Proto and X-Request-Id. If a load balancer is missing here, all clients seem to have its address. Default none',
        ),
      proxy_protocol: or(flag(), false).describe(
        'Whether the peers in trusted_proxies begin each connection with the PROXY protocol (version 1 or 2), which names the address of the client. Set it behind load balancers that pass connections on without reading HTTP, like an AWS NLB or HAProxy in mode tcp. Other peers may not use the protocol',
      ),
    },
    'What clients may send and how fast, and how much of the gateway a single client may occupy',
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
      delay: or(duration('0s', '10m'), '0s').describe(
        'How long the gateway still accepts new connections after the signal, so that a load balancer has time to notice that it stops',
      ),
      timeout: or(duration('0s', '1h'), '30s').describe(
        'How long requests under way may take after the delay. Then the gateway breaks them off',
      ),
    },
    'How the gateway stops after it got SIGTERM or SIGINT',
  ),
  { delay: 'delayMs', timeout: 'timeoutMs' },
)

export const readiness = domain(
  section(
    {
      credentials: or(duration('0s', '10m'), '60s').describe(
        'How long a process that starts waits for the keys of each issuer in auth.jwt and for a response of each provider in auth.introspection before it says that it is ready. After this time it says so without them',
      ),
    },
    'When a process that has just started reports on /readyz that it is ready',
  ),
  { credentials: 'credentialsMs' },
)

export const metrics = domain(
  section(
    {
      by_route: or(choice(['auto', 'always', 'never']), 'auto').describe(
        'Whether requests and their durations are also counted for each rule, which adds up to 24 series for each rule. auto does so if there are at most 100 rules',
      ),
    },
    'What /metrics of the admin listener contains',
  ),
  { by_route: 'byRoute' },
)

export const log = section(
  {
    level: or(choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal']), 'info').describe(
      'The lowest level of the lines that are written. With warn, for example, lines of level info are left out',
    ),
    requests: or(choice(['all', 'errors', 'none']), 'all').describe(
      'Which requests are written to the log: all, only errors, or none',
    ),
    address: or(flag(), false).describe(
      'Whether the line of a request contains the address of its client, which is personal data. If a proxy in edge.trusted_proxies sent the request, it is the address that the proxy names',
    ),
    path: or(flag(), false).describe(
      'Whether the line of a request contains the path as the client wrote it. A path may contain names of people. The query is never logged',
    ),
  },
  'The log on standard output',
)
