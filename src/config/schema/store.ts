import { NOT_A_PREFIX, PREFIX, parseStore } from '../addresses.ts'
import { domain } from './domain.ts'
import { duration, read, section, text } from './values.ts'

/** Where counters, settings and tokens are kept. */

export const store = read('a store like sqlite:./tollgate.db or redis://127.0.0.1:6379', parseStore, {
  description:
    'sqlite:PATH for one gateway; redis://, rediss://, redis+sentinel://HOST:PORT,HOST:PORT/NAME or redis+cluster://HOST:PORT,HOST:PORT for several. Default sqlite:./tollgate.db',
})

export const storeOptions = domain(
  section(
    {
      deadline: duration('10ms', '10s', {
        description:
          'How long the store may be silent while a charge waits, 10ms to 10s. Where it answers but is slow a charge waits up to four times as long; any other command of Redis up to twice. Default 250ms',
      }).prefault('250ms'),
      prefix: text({ description: 'First part of every key in Redis. Default tollgate', pattern: PREFIX.source })
        .regex(PREFIX, { error: NOT_A_PREFIX })
        .default('tollgate'),
    },
    'How the store is used',
  ),
  { deadline: 'deadlineMs' },
)
