import { z } from 'zod'
import { count, name, role, time } from './values.ts'

/** Errors, probes and the session, which do not concern the quota. */

export const errorResponse = name(
  z.strictObject({
    error: z.string(),
    msg: z.string(),
    problems: z.array(z.strictObject({ path: z.string(), msg: z.string() })).exactOptional(),
    /** For `version_conflict`: the present version. */
    version: count.exactOptional(),
    /** For `changed_since`: what the change has set, and what is there now. A null means the value of the file, or no override. */
    changed: z.array(z.strictObject({ path: z.string(), set: z.unknown(), now: z.unknown() })).exactOptional(),
  }),
  'Error',
  'What is wrong, and what to do. `error` is a code that never changes its meaning. `problems` has an entry for each wrong field. `version` comes with `version_conflict`, and `changed` with `changed_since`.',
)

export const live = name(
  z.strictObject({ live: z.boolean() }),
  'Live',
  'Whether the process works. If not, it should be restarted.',
)

export const ready = name(
  z.strictObject({
    ready: z.boolean(),
    reasons: z.array(z.string()).optional(),
    degraded: z.array(z.string()).optional(),
  }),
  'Ready',
  'Whether the gateway should get traffic. `reasons` says why not. `degraded` says what does not work although the gateway should get traffic.',
)

export const startup = z.strictObject({
  startup: z
    .enum(['1'])
    .optional()
    .describe('For a startup probe. The status is 200 as soon as the gateway accepts requests, even without the store'),
})

export const drain = z.strictObject({
  state: z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .optional()
    .describe('The state that you want. Without it the state changes to the other one'),
})

export const draining = name(
  z.strictObject({ draining: z.boolean(), msg: z.string() }),
  'Draining',
  'Whether the gateway is out of service, and how that ends.',
)

export const session = name(
  z.strictObject({
    name: z.string().nullable(),
    role: role.nullable(),
    organisation: z.string().optional(),
    /** When the page must sign in again. */
    expiresAt: time.nullable(),
    provider: z.string().exactOptional(),
  }),
  'Session',
  'Who is signed in, by the admin token or the session of the request. All fields are null if nobody is signed in. `expiresAt` is null for a token, and for a person whom a proxy in `admin.trusted` has signed in.',
)

export const signInBegun = name(
  z.strictObject({ to: z.string() }),
  'SignInBegun',
  'The address that the browser should open to sign in. The response also sets a cookie, which the browser needs when it comes back.',
)
