import * as z from 'zod'
import { COMBO, SYNC } from '../../music/lamps.ts'
import type { RecordName } from './platform.ts'

/** What the records of both platforms have in common. */

/** Several times what a player could have; reading each takes a while, in which nobody else is served. */
const MAX_RECORDS = 20_000

/** All records of a user, in any form. */
export const records = z.array(z.unknown()).max(MAX_RECORDS)

/** Numbers arrive as their source text; see parseBody. */
export const achievements = z.string()

/** Missing if the platform does not show it. */
export const dxScore = z
  .int()
  .nullish()
  .transform((value) => value ?? 0)

/** A lamp that we do not know counts as none: nothing is lowered by that. */
const lamp = (known: ReadonlyMap<unknown, number>) =>
  z
    .unknown()
    .optional()
    .transform((name) => (typeof name === 'string' ? (known.get(name) ?? 0) : 0))
export const combo = lamp(COMBO)
export const sync = lamp(SYNC)

const MAX_TYPE = 16

/** Whatever a hostile or broken record holds, only numbers and a short word are taken from it. */
const whole = z.int().nullable().catch(null)
const word = z.string().max(MAX_TYPE).regex(/^\w+$/).nullable().catch(null)
const named = z.object({ id: whole, song_id: whole, type: word, level_index: whole })

/** Names a record of a platform, as far as it can be read. @param id the member that holds the song's number */
export function nameOf(record: unknown, id: 'id' | 'song_id'): RecordName {
  const { success, data } = named.safeParse(record)
  if (!success) return { id: null, type: null, level_index: null }
  return { id: data[id], type: data.type, level_index: data.level_index }
}
