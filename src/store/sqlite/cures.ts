/** Also of the files beside the database. */
const OF_THE_DISK = /disk is full|disk I\/O error/
const OF_ITS_RIGHTS = /readonly database/

/** What an operator can do about what SQLite says; `null` where that is not known. */
export function cureOf(why: string): string | null {
  if (OF_THE_DISK.test(why)) return 'make room on its disk, or mend it; what the file holds is not lost'
  if (OF_ITS_RIGHTS.test(why)) {
    return 'let the user of the gateway write it, its folder, and the files beside it that end in -wal and -shm'
  }
  return null
}
