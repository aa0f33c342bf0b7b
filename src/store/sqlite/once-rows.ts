import type { DatabaseSync } from 'node:sqlite'
import { type Onces, oncesOf, type Remembered } from '../../quota/once.ts'

/** The charges that are remembered by a key, as rows. To be used within a transaction. */
export function onceRows(database: DatabaseSync): Onces {
  const read = database.prepare('SELECT body, since, replays, uses, least FROM once WHERE key = ?')
  const write = database.prepare(
    `INSERT INTO once (key, body, since, replays, uses, least, ends) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body, since = excluded.since, replays = excluded.replays,
       uses = excluded.uses, least = excluded.least, ends = excluded.ends`,
  )
  const forget = database.prepare('DELETE FROM once WHERE key = ?')
  return oncesOf(
    (key) => read.get(key) as Remembered | undefined,
    (key, remembered, ends) => {
      if (remembered === undefined) forget.run(key)
      else {
        const { body, since, replays, uses, least } = remembered
        write.run(key, body, since, replays, uses, least, ends)
      }
    },
  )
}
