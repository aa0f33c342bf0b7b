import type { z } from 'zod'
import { alerts } from './schema/alerts.ts'
import { auth } from './schema/auth.ts'
import { cors } from './schema/cors.ts'
import { decisions } from './schema/decisions.ts'
import { errors } from './schema/errors.ts'
import { admin, clientsTls, drain, edge, listen, log, metrics, readiness, workers } from './schema/listen.ts'
import { published } from './schema/public.ts'
import { quota } from './schema/quota.ts'
import { reference } from './schema/reference.ts'
import { routes, unmatched } from './schema/routes.ts'
import { store, storeOptions } from './schema/store.ts'
import { telemetry } from './schema/telemetry.ts'
import { upstream } from './schema/upstream.ts'
import { usage } from './schema/usage.ts'
import { read, section } from './schema/values.ts'
import { parseTimeZone, TIME_ZONE } from './time-zone.ts'

/**
 * The configuration file, key by key. The result is the configuration in the words of the domain, except for what
 * depends on the place of a value (`resolve.ts`). Rules between keys are in `checks/`.
 */
export const schema = section(
  {
    listen: listen.prefault('0.0.0.0:8080'),
    tls: clientsTls.optional(),
    workers: workers.default(1),
    upstream,
    store: store.prefault('sqlite:./tollgate.db'),
    store_options: storeOptions.prefault({}),
    time_zone: read(`a time zone like ${TIME_ZONE}`, parseTimeZone)
      .prefault(TIME_ZONE)
      .describe(
        `The time zone of the times in messages to clients, by its IANA name such as Europe/Berlin. A 429 says in this zone when requests may continue. Default ${TIME_ZONE}`,
      ),
    admin: admin.prefault({}),
    auth: auth.prefault({}),
    quota: quota.prefault({}),
    routes: routes.default([]),
    unmatched: unmatched.prefault('refuse'),
    reference: reference.optional(),
    usage: usage.prefault({}),
    public: published.prefault({}),
    decisions: decisions.optional(),
    edge: edge.prefault({}),
    cors: cors.optional(),
    errors: errors.prefault({}),
    alerts: alerts.prefault([]),
    readiness: readiness.prefault({}),
    drain: drain.prefault({}),
    log: log.prefault({}),
    metrics: metrics.prefault({}),
    telemetry: telemetry.optional(),
  },
  'Configuration of Tollgate',
).transform(
  ({
    store,
    store_options,
    time_zone,
    tls = null,
    reference = null,
    public: published,
    decisions = null,
    cors = null,
    telemetry = null,
    usage,
    ...rest
  }) => ({
    ...rest,
    tls,
    store: { location: store, ...store_options },
    timeZone: time_zone,
    usage: { ...usage, zone: usage.zone ?? time_zone },
    reference,
    published,
    decisions,
    cors,
    telemetry,
  }),
)

/** The configuration in the words of the domain, as the schema makes it from a valid file. */
export type Parsed = z.output<typeof schema>
