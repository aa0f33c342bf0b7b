import { NOT_A_PREFIX, PREFIX, parseStore } from '../addresses.ts'
import { clientTls } from './client-tls.ts'
import { domain } from './domain.ts'
import { duration, either, flag, read, section, text } from './values.ts'

/** Where counters, settings and access keys are kept. */

export const store = read('a store like sqlite:./tollgate.db or redis://127.0.0.1:6379', parseStore).describe(
  'sqlite:PATH for one gateway; redis://HOST:PORT, redis+unix:///PATH, redis+sentinel://HOST:PORT,HOST:PORT/NAME or redis+cluster://HOST:PORT,HOST:PORT for several; rediss, rediss+sentinel and rediss+cluster are by TLS; valkey may stand for redis. Default sqlite:./tollgate.db',
)

const login = {
  username: text({ max: 256 }).optional().describe('The user to log in as, instead of that of the URL'),
  password: text({ what: 'a password' }).optional().describe('The password, instead of that of the URL'),
}

const sentinel = domain(
  section(
    {
      ...login,
      tls: either('true, false, or { ca, cert, key, server_name }', [
        flag().describe('Whether sentinels are asked by TLS, with the files of store_options.tls'),
        clientTls('TLS with files of their own', 'Name to expect in the certificates of sentinels'),
      ])
        .optional()
        .describe('Whether, and how, sentinels are asked by TLS. Default as Redis itself'),
    },
    'Login and TLS for the sentinels, where they differ from those of Redis. Default without a login',
  ),
  {},
)

export const storeOptions = domain(
  section(
    {
      deadline: duration('10ms', '10s')
        .prefault('250ms')
        .describe(
          'How long the store may be silent while a charge waits, beyond what its responses take, 10ms to 10s. Where it responds but is slow, a charge waits up to four times as long and one response more, and any other command of Redis up to four times as long. Default 250ms',
        ),
      prefix: text({
        pattern: PREFIX.source,
      })
        .regex(PREFIX, { error: NOT_A_PREFIX })
        .default('tollgate')
        .describe(
          'The first part of the name of every key in Redis, so that several gateways can share one Redis without sharing quotas. Default tollgate',
        ),
      ...login,
      tls: clientTls(
        'TLS to Redis, only with rediss. Certificates are always verified',
        'Name to expect in the certificates of Redis. Default the host that is connected to',
      ).optional(),
      sentinel: sentinel.optional(),
    },
    'How the store is used. Login and certificates are read again by a reload',
  ),
  { deadline: 'deadlineMs' },
)
