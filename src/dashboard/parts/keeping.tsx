import { createContext, type ReactNode, useContext, useState } from 'react'

const Context = createContext<Map<string, unknown> | null>(null)

/** Keeps what is being edited while one looks at other pages, until the page is loaded anew. */
export function Keeping({ children }: { readonly children: ReactNode }) {
  const [kept] = useState(() => new Map<string, unknown>())
  return <Context value={kept}>{children}</Context>
}

/** As `useState`; what it holds is there again when its page is come back to. */
export function useKept<T>(name: string, initial: T): [T, (change: (now: T) => T) => void] {
  const kept = useContext(Context)
  if (kept === null) throw new Error('no Keeping')
  const [value, setValue] = useState(() => (kept.has(name) ? (kept.get(name) as T) : initial))
  function set(change: (now: T) => T): void {
    setValue((now) => {
      const next = change(now)
      kept?.set(name, next)
      return next
    })
  }
  return [value, set]
}
