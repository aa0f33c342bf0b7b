import { z } from 'zod'
import { name, share, time } from './values.ts'

/** Layers over time, of settings and of overrides. */

const value = z.record(z.string(), z.unknown())

export const layer = name(
  z.strictObject({
    id: z.string(),
    from: time.nullable(),
    until: time.nullable(),
    state: z.enum(['in_force', 'covered', 'to_come']),
    value,
    guard: z
      .strictObject({
        until: time,
        refused: share,
        counted: z.strictObject({ requests: z.number().min(0), refused: z.number().min(0) }).optional(),
      })
      .optional(),
    who: z.string().nullable(),
    why: z.string().nullable(),
  }),
  'Layer',
  'A value for a time. If several layers exist, the newest one is in force, and those below it are `covered`. The layer `permanent` is below all others. When a layer ends at `until`, the value below it is in force again. `value` is a merge patch of settings, or an override. A layer with a `guard` is taken back if more than the share `refused` of the requests is refused before `guard.until`. `counted` is what all gateways have counted, weighed by caller (GET /api/quota).',
)

const end = name(
  z.strictObject({ id: z.string(), until: time.nullable(), value }),
  'End',
  'The end of a layer, and which of its values a change has touched. `until` is null for a layer with a guard and without an end.',
)

export const ends = name(
  z.strictObject({ added: z.array(end), dropped: z.array(end), guards: z.array(end) }),
  'Ends',
  'How a change affects ends: the ends that it added, the ends of other changes that it dropped (so their values no longer end by themselves), and the guards that ended because their values were set again.',
)

export const takenAway = name(
  z.strictObject({ ends }),
  'TakenAway',
  'Which ends a removal has dropped. `ends.dropped` lists all of them.',
)

export { end }
