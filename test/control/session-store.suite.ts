import { expect, it } from 'vitest'
import type { SessionStore } from '../../src/control/session-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'

export interface SessionStoreUnderTest {
  readonly store: SessionStore
  close(): Promise<void>
}

/** What every store must do with sessions of the dashboard that were signed out. */
export function sessionStoreSuite(open: () => Promise<SessionStoreUnderTest>): void {
  it('knows those that were ended, and no others', async () => {
    const { store } = closedAtEnd(await open())
    expect(await store.isSessionEnded('a')).toBe(false)
    for (const _ of [1, 2]) await store.endSession('a', 60_000)
    expect([await store.isSessionEnded('a'), await store.isSessionEnded('b')]).toEqual([true, false])
  })
}
