import type { ScopeName } from '../../src/quota/charge.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { createKeys, keyOf } from '../../src/store/redis/keys.ts'
import { readCounter } from '../../src/store/redis/sections.ts'

/** A counter of a user, of an organisation, or of everybody, in a category. */
export interface CounterName {
  readonly scope: ScopeName
  /** Empty for everybody. */
  readonly id: string
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

export function createStored(prefix: string, counters: readonly CounterName[]): Stored {
  const names = createKeys(prefix)
  const keyOfCounter = ({ scope, id, category }: CounterName): string =>
    keyOf(names, scope, scope === 'global' ? category : id)
  const keys = [...new Set(counters.map(keyOfCounter))]
  return {
    keys,
    counter: (name, values) => readCounter(values[keys.indexOf(keyOfCounter(name))], name.category),
    isFor: (instance, scriptKeys) => scriptKeys.includes(names.instance(instance)),
  }
}
