/** Cures by the messages of `recognise` and of SQLite, also of those about the files beside the database. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [/disk is full|disk I\/O error/, 'make room on its disk, or mend it; what the file holds is not lost'],
  [
    /readonly database/,
    'let the user of the gateway write it, its folder, and the files beside it that end in -wal and -shm',
  ],
  [
    /another version/,
    'run the Tollgate that made it, or put back a backup of this version, or name a file that is yet to be made',
  ],
  [/another program/, 'name a file that Tollgate made, or one that is yet to be made'],
  [
    /not a database|malformed/,
    'put back a backup in its place, as docs/upkeep.md says, or name a file that Tollgate made, or one that is yet to be made',
  ],
  [/unable to open/, 'name a file in a folder that exists, and let the user of the gateway read and write both'],
]

/** What an operator can do about an error; `null` if unknown. */
export function cureOf(why: string): string | null {
  return CURES.find(([pattern]) => pattern.test(why))?.[1] ?? null
}
