import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { HandoverStore } from '../../src/control/handover-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'

export interface HandoverStoreUnderTest {
  readonly store: HandoverStore
  /** Lets time pass on the clock of the store, in milliseconds. Default that of everybody. */
  pass?(ms: number): unknown
  close(): Promise<void>
}

/** What every store must do with access keys that wait to be handed over. */
export function handoverStoreSuite(open: () => Promise<HandoverStoreUnderTest>): void {
  it('a key that waits to be handed over is given to one of those who ask at once', async () => {
    const { store } = closedAtEnd(await open())
    await store.putHandover('a', 'sealed', 60_000)
    const taken = await Promise.all(Array.from({ length: 20 }, () => store.takeHandover('a')))
    expect(taken.filter((each) => each !== null)).toEqual(['sealed'])
    expect([await store.takeHandover('a'), await store.takeHandover('b')]).toEqual([null, null])
  })

  it('a key that waits to be handed over waits no longer than its time', async () => {
    const { store, pass } = closedAtEnd(await open())
    await store.putHandover('a', 'sealed', 1)
    await (pass?.(20) ?? sleep(20))
    expect(await store.takeHandover('a')).toBeNull()
    await store.putHandover('a', 'again', 60_000)
    expect(await store.takeHandover('a')).toBe('again')
  })
}
