import { vi } from 'vitest'

/** The error with which a promise is rejected, and `no failure` if it is not. */
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )

/** Waits until a ledger has come so far. */
export const until = (condition: () => boolean): Promise<boolean> =>
  vi.waitUntil(condition, { interval: 5, timeout: 10_000 })
