import type { Store } from './store.ts'

/** A store whose place another one may take, for those who hold it and do not notice. */
export interface Replaceable {
  readonly store: Store
  /** Calls from now on go to `next`. Those under way end where they began, which is closed after `graceMs`. */
  replace(next: Store): void
}

/**
 * Lets another store take the place of a store. Both must be one store with the same content: a batch that is sent
 * again may go to the other one, which knows it by its sequence.
 * @param graceMs how long a call may take, in milliseconds
 */
export function replaceable(first: Store, graceMs: number): Replaceable {
  let current = first
  const before = new Set<Store>()
  const listeners = new Set<() => void>()
  const notifyAll = (): void => {
    for (const listener of listeners) listener()
  }
  let unfollow: (() => void) | null = null

  function onChange(listener: () => void): () => void {
    listeners.add(listener)
    unfollow ??= current.onChange(notifyAll)
    return () => void listeners.delete(listener)
  }

  function replace(next: Store): void {
    const old = current
    current = next
    before.add(old)
    setTimeout(() => void end(old), graceMs).unref()
    if (unfollow === null) return
    unfollow()
    unfollow = next.onChange(notifyAll)
    // What was published between the two was heard by neither.
    notifyAll()
  }

  async function end(store: Store): Promise<void> {
    if (before.delete(store)) await store.close()
  }

  async function close(): Promise<void> {
    for (const store of before) await end(store)
    await current.close()
  }

  return { store: { ...delegating(first, () => current), onChange, close }, replace }
}

/** An object with the methods of `like`, each of which calls that of whatever is current. */
function delegating<T extends object>(like: T, current: () => T): T {
  const methods = Object.keys(like).map((name) => {
    const method = name as keyof T
    return [
      name,
      (...args: readonly unknown[]) => (current()[method] as (...args: readonly unknown[]) => unknown)(...args),
    ]
  })
  return Object.fromEntries(methods) as T
}
