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
  'A value over time. Of all layers that live, the newest one is in force; `covered` lives too, but a newer one sets all of it. At `until` the layer goes and nothing else. The one called `permanent` lies under all others. `value` is a merge patch of settings, or an override. A layer with `guard` goes if more than the share `refused` of the requests is refused before `guard.until`; `counted` is what all gateways have counted, weighed by caller (GET /api/quota).',
)

const end = name(
  z.strictObject({ id: z.string(), until: time.nullable(), value }),
  'End',
  'The end of a layer, and which of its values a change has touched. `until` is null for a guarded one without an end.',
)

export const ends = name(
  z.strictObject({ added: z.array(end), dropped: z.array(end), guards: z.array(end) }),
  'Ends',
  'What a change did to ends: those that it added, those of others that it dropped (their values end no more by themselves), and the guards that ended since their values were set again.',
)

export const takenAway = name(
  z.strictObject({ ends }),
  'TakenAway',
  'What taking something away did to ends. `ends.dropped` has every end that goes with it.',
)

export { end }
