import type { ScopeName } from '../../src/quota/charged-scopes.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { eachPackedRun } from '../../src/store/packed-history.ts'
import { readCounter } from '../../src/store/redis/form/section.ts'
import { historyKey } from '../../src/store/redis/history.ts'
import { createKeys, keyOf } from '../../src/store/redis/keys.ts'

/** A counter of a user, of an organisation, or of everybody, in a category. */
export interface CounterName {
  readonly scope: ScopeName
  /** Empty for everybody. */
  readonly id: string
  readonly category: string
}

/** Whether runs of a counter that are over are kept. */
export type Keeps = (name: CounterName) => boolean

/** Runs of windows and what was used in them. */
export type Runs = Counter

/** How counters and last replies lie in Redis. */
export interface Stored {
  /** The keys that hold the counters and the histories, each once. */
  readonly keys: readonly string[]
  /** @param values those of `keys` */
  counter(name: CounterName, values: readonly (Buffer | null)[]): Counter
  /** The runs of a counter that are in the history of its owner. */
  history(name: CounterName, values: readonly (Buffer | null)[]): Runs
  /** Whether a script was given the last reply of an instance. */
  isFor(instance: string, scriptKeys: readonly string[]): boolean
}

export function createStored(prefix: string, counters: readonly CounterName[]): Stored {
  const names = createKeys(prefix)
  const keyOfCounter = ({ scope, id, category }: CounterName): string =>
    keyOf(names, scope, scope === 'global' ? category : id)
  const keyOfHistory = ({ scope, id }: CounterName): string | null =>
    scope === 'global' ? null : historyKey(names, scope, id)
  const keys = [...new Set([...counters.map(keyOfCounter), ...counters.flatMap((name) => keyOfHistory(name) ?? [])])]
  return {
    keys,
    counter: (name, values) => readCounter(values[keys.indexOf(keyOfCounter(name))], name.category),
    history: (name, values) => {
      const runs: Counter = []
      const bytes = values[keys.indexOf(keyOfHistory(name) ?? '')] ?? null
      if (bytes === null) return runs
      eachPackedRun(bytes, 0, Number.POSITIVE_INFINITY, (category, seconds, startedAt, used) => {
        if (category === name.category) runs.push({ seconds, startedAt, used })
      })
      return runs
    },
    isFor: (instance, scriptKeys) => scriptKeys.includes(names.instance(instance)),
  }
}
