import { expect, it } from 'vitest'
import type { GuardStore } from '../../src/control/guard-tally.ts'
import { closedAtEnd } from '../setup/at-end.ts'

export interface GuardStoreUnderTest {
  readonly store: GuardStore
  close(): Promise<void>
}

/** What every store must do with what processes have counted for a guard. */
export function guardStoreSuite(open: () => Promise<GuardStoreUnderTest>): void {
  it('adds up what all processes have counted, each as it said last', async () => {
    const { store } = closedAtEnd(await open())
    expect(await store.readGuard('g')).toEqual({ requests: 0, refused: 0 })
    expect(await store.countForGuard('g', 'one', { requests: 4.5, refused: 0.25 })).toEqual({
      requests: 4.5,
      refused: 0.25,
    })
    expect(await store.countForGuard('g', 'two', { requests: 10, refused: 0 })).toEqual({
      requests: 14.5,
      refused: 0.25,
    })
    const sum = { requests: 18, refused: 1.5 }
    // Said twice, as after a lost reply, it counts once.
    for (let i = 0; i < 2; i++)
      expect(await store.countForGuard('g', 'one', { requests: 8, refused: 1.5 })).toEqual(sum)
    expect(await store.readGuard('g')).toEqual(sum)
  })

  it('counts for each guard anew', async () => {
    const { store } = closedAtEnd(await open())
    await store.countForGuard('g', 'one', { requests: 5, refused: 5 })
    expect(await store.countForGuard('h', 'one', { requests: 1, refused: 0 })).toEqual({ requests: 1, refused: 0 })
    expect(await store.readGuard('h')).toEqual({ requests: 1, refused: 0 })
  })
}
