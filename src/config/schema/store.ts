import { NOT_A_PREFIX, PREFIX, parseStore } from '../addresses.ts'
import { clientTls } from './client-tls.ts'
import { domain } from './domain.ts'
import { duration, either, flag, or, read, section, text } from './values.ts'

/** Where counters, settings and access keys are kept. */

export const store = read('a store like sqlite:./tollgate.db or redis://127.0.0.1:6379', parseStore).describe(
  'Where the gateway stores its counters. For a single gateway, sqlite:PATH is enough. A relative PATH starts at the working directory, and not at this file. For several gateways, use redis://HOST:PORT, redis+unix:///PATH, redis+sentinel://HOST:PORT,HOST:PORT/NAME or redis+cluster://HOST:PORT,HOST:PORT. For TLS write rediss, rediss+sentinel or rediss+cluster. You can write valkey instead of redis. Default sqlite:./tollgate.db',
)

const login = {
  username: text({ max: 256 }).optional().describe('The user name for the login, instead of the one in the URL'),
  password: text({ what: 'a password' })
    .optional()
    .describe('The password for the login, instead of the one in the URL'),
}

const sentinel = domain(
  section(
    {
      ...login,
      tls: either('true, false, or { ca, cert, key, server_name }', [
        flag().describe('Whether the gateway connects to the sentinels by TLS, with the files of store_options.tls'),
        clientTls('TLS with files of their own', 'The name that the certificates of the sentinels must have'),
      ])
        .optional()
        .describe('Whether and how the gateway connects to the sentinels by TLS. Default as for Redis itself'),
    },
    'The login and TLS for the sentinels, if they differ from those of Redis. Default without a login',
  ),
  {},
)

export const storeOptions = domain(
  section(
    {
      deadline: or(duration('10ms', '10s'), '250ms').describe(
        'How long a charge waits for a store that does not respond before the gateway decides without it. If the store responds slowly, a charge waits up to four times as long and for one more response, and any other command of Redis up to four times as long',
      ),
      prefix: text({
        pattern: PREFIX.source,
      })
        .regex(PREFIX, { error: NOT_A_PREFIX })
        .default('tollgate')
        .describe(
          'The first part of the name of every key in Redis. With different prefixes, several gateways can use one Redis without sharing quotas. Default tollgate',
        ),
      ...login,
      tls: clientTls(
        'TLS to Redis, only with rediss. Certificates are always verified',
        'The name that the certificates of Redis must have. Default the host of the connection',
      ).optional(),
      sentinel: sentinel.optional(),
    },
    'How the gateway uses the store. A reload reads the login and the certificates again',
  ),
  { deadline: 'deadlineMs' },
)
