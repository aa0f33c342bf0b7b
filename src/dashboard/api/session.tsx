import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import type { QuotaResponse, Role, SessionResponse, SignInBegunResponse } from '../../contract/api.ts'
import type { SignInAddress } from '../logic/sign-in-link.ts'
import { ApiError, bell, call, PROVIDER, ring, SESSION } from './client.ts'
import { forget, readOn, stopReading } from './queries.tsx'
import { type Polled, usePoll } from './use-poll.ts'
import { leaveFor, useSignInLink } from './use-sign-in-link.ts'

export interface Somebody {
  readonly name: string
  readonly role: Role
  /** The organisation of a lead; `null` for other roles. */
  readonly organisation: string | null
  /** Whether this page can end the session. It cannot if a proxy in front signs people in. */
  readonly canSignOut: boolean
}

function somebody(session: SessionResponse | null): Somebody | null {
  if (session === null || session.name === null || session.role === null) return null
  const { name, role, organisation = null, expiresAt } = session
  return { name, role, organisation, canSignOut: expiresAt !== null }
}

export interface Session {
  /** Who is signed in, or was signed in until the session ended by itself; `null` after a sign-out and before the first sign-in. */
  readonly who: Somebody | null
  /** `asking` before the first response, and while a sign-in link or the result of the provider is tried if nobody was signed in. */
  readonly state: 'asking' | 'in' | 'out'
  /** @throws ApiError if the token is not valid, LostError without a response */
  signIn(token: string): Promise<void>
  /** Host of the provider where people sign in; `null` for none. */
  readonly provider: string | null
  /** Leaves the page for the provider. @throws ApiError if the provider cannot be used at the moment, LostError without a response */
  signInByProvider(): Promise<void>
  /** Why a sign-in link or the return from the provider failed, or why the person named by the proxy has no role; else `null`. */
  readonly linkError: Error | null
  signOut(): Promise<void>
}

const Context = createContext<Session | null>(null)

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { data, error, reload, read } = usePoll<SessionResponse>(SESSION, 60_000)
  const [left, setLeft] = useState(false)
  const [last, setLast] = useState<Somebody | null>(null)
  const link = useSignInLink(enter)
  const now = somebody(data)
  const asking = data === null && !(error instanceof ApiError)
  // While somebody signs in again, the page stays behind the sign-in, and a sign-in link must not discard the page.
  const entering = link.isOpening && now === null && last === null
  const state = left ? 'out' : asking || entering ? 'asking' : now === null ? 'out' : 'in'

  useEffect(() => {
    const now = somebody(data)
    if (now !== null) setLast(now)
  }, [data])
  const { error: linkError, dismiss } = link
  useEffect(() => {
    // The error does not matter to somebody who is or gets signed in.
    if (state === 'in' && linkError !== null) dismiss()
  }, [state, linkError, dismiss])
  useEffect(() => {
    bell.addEventListener('unauthorized', reload)
    return () => bell.removeEventListener('unauthorized', reload)
  }, [reload])

  /** Resolves when it is known who is signed in. */
  async function enter(body: { readonly token: string } | SignInAddress): Promise<void> {
    await call('POST', SESSION, { body })
    readOn()
    setLeft(false)
    const known = read()
    ring('again')
    await known
  }
  async function signIn(token: string): Promise<void> {
    dismiss()
    await enter({ token })
  }
  async function signInByProvider(): Promise<void> {
    dismiss()
    leaveFor((await call<SignInBegunResponse>('POST', PROVIDER)).data.to)
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
  const who = left ? null : (now ?? last)
  const provider = data?.provider ?? null
  const noRole = error instanceof ApiError && error.response.error === 'no_role' ? error : null
  const ways = { signIn, provider, signInByProvider, signOut }
  return <Context value={{ who, state, linkError: linkError ?? noRole, ...ways }}>{children}</Context>
}

export function useSession(): Session {
  const session = useContext(Context)
  if (session === null) throw new Error('no SessionProvider')
  return session
}

export function useMayChange(): boolean {
  return useSession().who?.role !== 'viewer'
}

/** The organisation of a lead, who sees nothing that is the operator's; `null` for everybody else. */
export function useLed(): string | null {
  return useSession().who?.organisation ?? null
}

/** Like `usePoll`, for what a lead may not see. For a lead it stays unknown. */
export function useOperatorsPoll<T>(path: string | null, everyMs: number): Polled<T> {
  return usePoll<T>(useLed() === null ? path : null, everyMs)
}

const QUOTA_EVERY_MS = 10_000

/** The settings in force and what the file says; `null` before the first response, and for a lead. @param everyMs default 10 s */
export function useQuota(everyMs = QUOTA_EVERY_MS): QuotaResponse | null {
  return useOperatorsPoll<QuotaResponse>('/api/quota', everyMs).data
}
