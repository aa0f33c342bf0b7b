import { repeat } from '../lib/repeat.ts'
import type { Runtime } from './runtime.ts'

/**
 * What a process needs from others before it can check credentials: the key sets of issuers, and a response of each introspection provider.
 *
 * | State    | Event                                                        | Next      |
 * |----------|--------------------------------------------------------------|-----------|
 * | waiting  | all have come once, from the provider or from the store      | ready     |
 * | waiting  | `readiness.credentials` has passed since the start           | ready     |
 *
 * A process that is ready stays ready, because a provider that fails later fails for all processes.
 */
export interface FirstCredentials {
  start(): void
  isWaiting(): boolean
  stop(): void
}

/** How often to try, in milliseconds. */
const AGAIN_MS = 1000

export function createFirstCredentials(
  current: () => Pick<Runtime, 'authenticator' | 'config'>,
  now = () => performance.now(),
): FirstCredentials {
  let until = Number.POSITIVE_INFINITY
  let stop = (): void => {}

  function start(): void {
    until = now() + current().config.readiness.credentialsMs
    stop = repeat(look, AGAIN_MS)
    void current().authenticator.prepare()
  }

  function look(): void {
    if (isWaiting()) void current().authenticator.prepare()
  }

  function isWaiting(): boolean {
    if (until === Number.NEGATIVE_INFINITY) return false
    if (now() < until && current().authenticator.isIncomplete()) return true
    until = Number.NEGATIVE_INFINITY
    stop()
    return false
  }

  return { start, isWaiting, stop: () => stop() }
}
