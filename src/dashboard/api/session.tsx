import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import type { Role, SessionResponse } from '../../admin/api.ts'
import { ApiError, bell, call, ring, SESSION } from './client.ts'
import { forget, readOn, stopReading } from './queries.tsx'
import { usePoll } from './use-poll.ts'

export interface Somebody {
  readonly name: string
  readonly role: Role
}

function somebody(session: SessionResponse | null): Somebody | null {
  if (session === null || session.name === null || session.role === null) return null
  return { name: session.name, role: session.role }
}

export interface Session {
  /** Who is signed in; of the last session, while somebody must sign in again. */
  readonly who: Somebody | null
  /** `asking` before the first answer. */
  readonly state: 'asking' | 'in' | 'out'
  /** @throws ApiError where the token is not good */
  signIn(token: string): Promise<void>
  signOut(): Promise<void>
}

const Context = createContext<Session | null>(null)

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { data, error, reload } = usePoll<SessionResponse>(SESSION, 60_000)
  const [left, setLeft] = useState(false)
  const [last, setLast] = useState<Somebody | null>(null)
  const now = somebody(data)
  const asking = data === null && !(error instanceof ApiError)
  const state = left ? 'out' : asking ? 'asking' : now === null ? 'out' : 'in'

  useEffect(() => {
    const now = somebody(data)
    if (now !== null) setLast(now)
  }, [data])
  useEffect(() => {
    bell.addEventListener('unauthorized', reload)
    return () => bell.removeEventListener('unauthorized', reload)
  }, [reload])

  async function signIn(token: string): Promise<void> {
    await call('POST', SESSION, { body: { token } })
    readOn()
    setLeft(false)
    reload()
    ring('again')
  }
  async function signOut(): Promise<void> {
    await stopReading()
    try {
      await call('DELETE', SESSION)
    } catch (error) {
      readOn()
      throw error
    }
    setLeft(true)
    setLast(null)
    forget()
    reload()
  }
  return <Context value={{ who: left ? null : (now ?? last), state, signIn, signOut }}>{children}</Context>
}

export function useSession(): Session {
  const session = useContext(Context)
  if (session === null) throw new Error('no SessionProvider')
  return session
}

export function useMayChange(): boolean {
  return useSession().who?.role === 'admin'
}
