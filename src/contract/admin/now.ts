import { z } from 'zod'
import { GROUPINGS } from '../../usage/episodes.ts'
import { windows } from './limits.ts'
import { byName, count, name, scope, scopedTable, share, time } from './values.ts'

/** The present state (the replicas, the store, the upstream), and what was refused or has failed before. */

export const counts = z.strictObject({
  requests: count,
  refused: count,
  shadowed: count,
  tokens: count,
  forwarded: count,
  failed: count,
  inFlight: count,
})

const replica = z.strictObject({
  instance: z.string(),
  host: z.string(),
  pid: count,
  version: z.string(),
  hash: z.string(),
  controlVersion: count,
  startedAt: time,
  silentMs: z.number().min(0),
  ready: z.boolean(),
  reasons: z.array(z.string()),
  configProblems: z.array(z.string()),
  counts,
})

/** Wanted changes of the last 24 hours that are not in force, because they could not be made or a guard has taken them back. */
const upsets = z
  .array(z.strictObject({ version: count, at: time, outcome: z.enum(['not_made', 'taken_back']), why: z.string() }))
  .optional()

export const now = name(
  z.strictObject({
    at: time,
    /** Sums over the replicas since the start of each. */
    counts: counts.nullable(),
    replicas: z.array(replica).nullable(),
    agree: z.boolean().nullable(),
    store: z.strictObject({ kind: z.enum(['sqlite', 'redis']), answers: z.boolean() }),
    storeOutage: byName(share),
    backend: z.strictObject({
      origin: z.string(),
      requests: count.nullable(),
      status0: count.nullable(),
      status5xx: count.nullable(),
    }),
    /** `hash` is of everything that decides about requests; it is `rules` in the log line "configuration loaded". */
    config: z.strictObject({ file: z.string(), hash: z.string() }),
    controlVersion: count,
    /** The global windows by category. */
    windows: windows.nullable(),
    shadow: z.boolean(),
    upsets,
    /** The built-in limits of charged categories whose limits nobody has set, neither in the file nor at run time. Absent if there are none. */
    unwritten: scopedTable.optional(),
    authShadow: z.strictObject({
      on: z.boolean(),
      letIn: z.strictObject({ missing: count, invalid: count, ambiguous: count, unchecked: count }).nullable(),
    }),
  }),
  'Now',
  'The replicas, their sums, the store, the upstream and the global windows. While the store is out (it does not answer, is full, or takes no writes), replicas and counts are the last that were seen; null is what is not known.',
)

export const status = name(
  z.strictObject({
    store: z.strictObject({ answers: z.boolean() }),
    storeOutage: byName(share),
    shadow: z.boolean(),
    controlVersion: count,
    full: z.array(
      z.strictObject({
        category: z.string(),
        window: z.string(),
        until: time,
        remaining: count,
        tooDear: z.strictObject({ match: z.string(), cost: count }).nullable(),
      }),
    ),
    /** How many users were refused in the last 5 minutes by their own limits, and how many organisations refused members by theirs. */
    users: count,
    organisations: count,
    /** How many users a global window refused in the last 5 minutes. The window may have ended since. */
    global: count,
    upstream: z.strictObject({ requests: count, failed: count }).nullable(),
    upsets,
  }),
  'Status',
  'The global windows that refuse now, and how many users and organisations got a 429 in the last 5 minutes, in a few hundred bytes. The line at the top of each page of the dashboard shows the same. A user who has no room now and sends nothing is not counted.',
)

export const refusal = z.strictObject({
  user: z.string().nullable(),
  plan: z.string().nullable(),
  organisation: z.string().nullable(),
  category: z.string(),
  scope,
  window: z.string(),
  startedAt: time.nullable(),
  first: time,
  last: time,
  count,
  routes: z.array(z.string()),
  limit: count,
  used: count,
  source: z.string(),
  cost: count.nullable(),
  until: time.nullable(),
  emptied: z.boolean(),
})

export const refusals = name(
  z.strictObject({ refusals: z.array(refusal), next: z.string().nullable() }),
  'Refusals',
  'What the quota has refused, latest first: one entry for each user, category, scope, window and run. `user` is `null` for all callers together of whom nobody knows who they are. `cost` is that of the last refused request, `null` if an earlier version has stored the entry. `until` is when the run ends, `null` if the window was not running or is not configured any more, or if `emptied`: then the window was emptied, for example by a reset, and what would still be the run refuses nobody. `next` is the cursor of the next page.',
)

const scopes = z.strictObject({ Personal: count, Organisation: count, Global: count })
const sums = { count, scopes, users: count }

export const refusalGroups = name(
  z.strictObject({
    from: time,
    to: time,
    by: z.enum(GROUPINGS),
    step: z.enum(['30m', '1h', '1d']),
    ...sums,
    groups: z.array(
      z.strictObject({
        name: z.string().nullable(),
        limit: z.strictObject({ scope, category: z.string(), window: z.string() }).nullable(),
        ...sums,
        last: time,
      }),
    ),
    more: count,
    steps: z.array(z.strictObject({ start: time, end: time, ...scopes.shape })),
  }),
  'RefusalGroups',
  'What the quota refused in a time, all together, by `by` with the most refusals first, and over time. `name` is the user, the organisation or the route, and `null` where there is none; a limit is in `limit`. An entry of the refusals counts whole, for each of its routes, and over time it is spread evenly between its first and its last refusal. `users` is how many users were refused, and `more` how many further groups there are.',
)

export const failures = name(
  z.strictObject({
    since: time,
    until: time,
    bucketMinutes: z.int(),
    buckets: z.array(z.strictObject({ start: time, total: count, status0: count, status5xx: count })),
  }),
  'Failures',
  'Forwarded requests of the last 7 days by half-hour, oldest first; the last one is still being counted.',
)
