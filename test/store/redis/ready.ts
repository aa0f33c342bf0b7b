import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../src/store/store.ts'

/** A store connects in the background; a test waits for it. */
export async function whenReady(store: Pick<Store, 'ping'>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await store.ping()
    } catch (error) {
      if (tries > 2000) throw error
      await sleep(10)
    }
  }
}
