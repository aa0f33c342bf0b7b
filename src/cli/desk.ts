import { Desk } from '../admin/desk.ts'
import { setupOf } from '../app/admin-plane.ts'
import { createChangeFollower } from '../control/change-follower.ts'
import { adaptive } from '../failures/adaptive.ts'
import type { Store } from '../store/store.ts'
import type { Loaded } from './config.ts'

/** What the store holds of the changes of administrators. It is read when it is asked for. */
export function follower(store: Store) {
  return createChangeFollower({ store, observe: () => {} })
}

/** The desk of the admin API for this configuration and store, as a running gateway would have it. @throws StoreError */
export async function deskOf({ config }: Loaded, store: Store): Promise<Desk> {
  const setup = setupOf(config)
  const factor = adaptive({ ...(await store.readTallies()), options: config.quota.adaptive })
  const control = follower(store)
  // Questions about users begin with the state of the store, which nothing else has read in a command.
  await control.fresh()
  return new Desk({ store, control, setup: () => setup, adaptive: () => factor, lacksStore: () => false })
}
