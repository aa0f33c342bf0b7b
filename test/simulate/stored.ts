import type { Counter } from '../../src/quota/counter.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { readCounter } from '../../src/store/redis/sections.ts'

/** A counter of a user, or of everybody (`null`), in a category. */
export interface CounterName {
  readonly user: string | null
  readonly category: string
}

/** How counters and last replies lie in Redis. */
export interface Stored {
  /** The keys that hold the counters, each once. */
  readonly keys: readonly string[]
  /** @param values those of `keys` */
  counter(name: CounterName, values: readonly (Buffer | null)[]): Counter
  /** Whether a script was given the last reply of an instance. */
  isFor(instance: string, scriptKeys: readonly string[]): boolean
}

export function createStored(prefix: string, users: readonly string[], categories: readonly string[]): Stored {
  const names = createKeys(prefix)
  const keys = [...users.map(names.user), ...categories.map(names.everybody)]
  const keyOf = ({ user, category }: CounterName): string =>
    user === null ? names.everybody(category) : names.user(user)
  return {
    keys,
    counter: (name, values) => readCounter(values[keys.indexOf(keyOf(name))], name.category),
    isFor: (instance, scriptKeys) => scriptKeys.includes(names.instance(instance)),
  }
}
