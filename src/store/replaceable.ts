import type { Store } from './store.ts'

/** A store that can be replaced by another one while its users hold on to it. */
export interface Replaceable {
  readonly store: Store
  /** Sends calls from now on to `next`. Earlier calls end in the old store, which is closed after `graceMs`. */
  replace(next: Store): void
}

/**
 * Makes a store replaceable. The new store must have the same content, because a batch that the old store has applied may
 * be sent again to the new one, which recognises it by its sequence.
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
    // Neither subscription has received a message that was published between the two.
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

/** An object with the methods of `like`, which call the same method of the current object. */
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
