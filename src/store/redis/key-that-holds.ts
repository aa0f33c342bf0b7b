import type { RecordKind } from '../../observe/observation.ts'
import type { Records } from '../records.ts'
import { call, UNREADABLE } from './calls.ts'

/** A key that holds no records itself, but leads to some. */
export interface LeadingKey {
  /** Reports that the key has another type than ours. @param id the part of its name after `list` @returns `empty` */
  lost<T>(id: string, empty: T): T
}

/**
 * @param list the key, or the prefix of several keys
 * @param probe a command that fails if the key is of another type
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
