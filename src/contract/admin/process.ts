import { z } from 'zod'
import { count, name, role, time } from './values.ts'

/** What has to do with no quota: errors, probes, the session. */

export const errorResponse = name(
  z.strictObject({
    error: z.string(),
    msg: z.string(),
    problems: z.array(z.strictObject({ path: z.string(), msg: z.string() })).exactOptional(),
    /** Of `version_conflict`: what it is now. */
    version: count.exactOptional(),
    /** Of `changed_since`: what the change set, and what is there now; null follows the file, or is no override. */
    changed: z.array(z.strictObject({ path: z.string(), set: z.unknown(), now: z.unknown() })).exactOptional(),
  }),
  'Error',
  'What is wrong, and the cure. `error` is a code that never changes its meaning; `problems` has one entry for each wrong field; `version` comes with `version_conflict`, and `changed` with `changed_since`.',
)

export const live = name(z.strictObject({ live: z.boolean() }), 'Live', 'Whether the process is worth keeping.')

export const ready = name(
  z.strictObject({
    ready: z.boolean(),
    reasons: z.array(z.string()).optional(),
    degraded: z.array(z.string()).optional(),
  }),
  'Ready',
  'Whether traffic should come; `reasons` why not, `degraded` what is missing although it should.',
)

export const startup = z.strictObject({
  startup: z
    .enum(['1'])
    .optional()
    .describe('For a startup probe: 200 as soon as requests are taken, also without the store'),
})

export const drain = z.strictObject({
  state: z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .optional()
    .describe('What is wanted, however often it is said; without it the other than now'),
})

export const draining = name(
  z.strictObject({ draining: z.boolean(), msg: z.string() }),
  'Draining',
  'Whether the gateway is out of service from now on, and how that ends.',
)

export const session = name(
  z.strictObject({
    /** Name of the admin token. */
    name: z.string().nullable(),
    role: role.nullable(),
    organisation: z.string().optional(),
    /** When the page must sign in again. */
    expiresAt: time.nullable(),
    /** Host of the provider of `admin.oidc`; without one it is missing. */
    provider: z.string().exactOptional(),
  }),
  'Session',
  'Whose admin token or session the request came with: all null for nobody. `expiresAt` is null for the token itself, and for whom the proxy of `admin.trusted` vouches for.',
)

export const signInBegun = name(
  z.strictObject({ to: z.string() }),
  'SignInBegun',
  'Where the browser goes to sign in. The cookie that comes with it is needed when it is back.',
)
