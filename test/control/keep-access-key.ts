import { creationOf } from '../../src/control/access-key-changes.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import type { ControlStore } from '../../src/control/control-store.ts'

/** Makes an access key known, as administrators do. */
export async function keepAccessKey(store: Pick<ControlStore, 'change'>, record: AccessKeyRecord): Promise<void> {
  await store.change(creationOf(record), { who: 'ann', why: null }, null)
}
