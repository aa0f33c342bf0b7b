import * as z from 'zod'
import { COMBO, SYNC } from '../../music/lamps.ts'
import type { RecordName } from './platform.ts'

/** The common parts of the records of both platforms. */

/** Several times as many as a player could have. Nobody else is served while they are read. */
const MAX_RECORDS = 20_000

/** All records of a user, in any form. */
export const records = z.array(z.unknown()).max(MAX_RECORDS)

/** Numbers arrive as their source text; see parseBody. */
export const achievements = z.string()

/** The DX score; 0 if the platform does not show it. */
export const dxScore = z
  .int()
  .nullish()
  .transform((value) => value ?? 0)

/** An unknown lamp counts as none: that lowers nothing. */
const lamp = (known: ReadonlyMap<unknown, number>) =>
  z
    .unknown()
    .optional()
    .transform((name) => (typeof name === 'string' ? (known.get(name) ?? 0) : 0))
export const combo = lamp(COMBO)
export const sync = lamp(SYNC)

const MAX_TYPE = 16

/** From a hostile or broken record only numbers and a short word are taken. */
const whole = z.int().nullable().catch(null)
const word = z.string().max(MAX_TYPE).regex(/^\w+$/).nullable().catch(null)
const named = z.object({ id: whole, song_id: whole, type: word, level_index: whole })

/** Names a record of a platform, as far as it can be read. @param id the member that holds the song's number */
export function nameOf(record: unknown, id: 'id' | 'song_id'): RecordName {
  const { success, data } = named.safeParse(record)
  if (!success) return { id: null, type: null, level_index: null }
  return { id: data[id], type: data.type, level_index: data.level_index }
}
