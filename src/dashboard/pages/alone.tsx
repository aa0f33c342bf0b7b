import type { ReactNode } from 'react'
import icon from '../icon.svg'
import { Preferences } from '../ui/shell.tsx'

/** A page for people who are not signed in. */
export function Alone({ children }: { readonly children: ReactNode }) {
  return (
    <div className="sign-in">
      <header className="wrap top-end">
        <Preferences />
      </header>
      <main>{children}</main>
    </div>
  )
}

/** The heading of a page for people who are not signed in, with Tollgate's logo. */
export function AloneTitle({ title }: { readonly title: string }) {
  return (
    <h1>
      <img src={icon} alt="" width="32" height="32" /> {title}
    </h1>
  )
}
