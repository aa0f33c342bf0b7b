import { createContext, type ReactNode, useContext, useState, useSyncExternalStore } from 'react'

const Context = createContext<Kept | null>(null)

/** Keeps the values of `useKept` while somebody looks at other pages, until the browser reloads the dashboard. */
export function Keeping({ children }: { readonly children: ReactNode }) {
  const [kept] = useState(createKept)
  return <Context value={kept}>{children}</Context>
}

/**
 * Like `useState`, but the value is still there when somebody comes back to the page, with changes by requests that ended
 * meanwhile.
 * @param name of the value, unique in the dashboard
 * @param initial the same at each call
 */
export function useKept<T>(name: string, initial: T): [T, (change: (now: T) => T) => void] {
  const kept = useContext(Context)
  if (kept === null) throw new Error('no Keeping')
  const { values, subscribe } = kept
  const read = (): T => (values.has(name) ? (values.get(name) as T) : initial)
  return [useSyncExternalStore(subscribe, read), (change) => kept.set(name, change(read()))]
}

type Kept = ReturnType<typeof createKept>

function createKept() {
  const values = new Map<string, unknown>()
  const watchers = new Set<() => void>()
  return {
    values,
    set(name: string, value: unknown): void {
      values.set(name, value)
      for (const watcher of watchers) watcher()
    },
    subscribe(watcher: () => void): () => void {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
  }
}
