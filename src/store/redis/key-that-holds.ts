import type { RecordKind } from '../../observe/observation.ts'
import type { Records } from '../records.ts'
import { call, UNREADABLE } from './calls.ts'

/** Keys that hold no records, but lead to some. */
export interface LeadingKey {
  /** Reports that one of them holds another type than ours. @param id what is behind `list` in its name @returns `empty` */
  lost<T>(id: string, empty: T): T
}

/**
 * @param list the key, or the beginning of such keys
 * @param probe a command that fails where the key is of another type
 */
export function keyThatHolds(
  records: Records,
  kind: RecordKind,
  list: string,
  probe: (id: string) => Promise<unknown>,
): LeadingKey {
  const keys = records.list<string, never>({
    kind,
    list,
    parse: () => null,
    look: (id) =>
      call<string | null>(
        async () => {
          await probe(id)
          return null
        },
        () => UNREADABLE,
      ),
  })
  return {
    lost(id, empty) {
      keys.read(id, UNREADABLE)
      return empty
    },
  }
}
