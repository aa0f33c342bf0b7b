import { join } from 'node:path'
import { tempFolder } from '../../setup/at-end.ts'

/** The path of an embedded store that is yet to be made, gone behind the tests which it is made for. */
export function newFile(): string {
  return join(tempFolder(), 'store.db')
}
