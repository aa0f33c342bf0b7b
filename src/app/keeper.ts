import { entryResponse, wishResponse } from '../admin/audit-entry.ts'
import type { QuotaConfig } from '../config/config.ts'
import type { ChangeFollower } from '../control/change-follower.ts'
import { createKeeper, type Keeper } from '../control/keeper.ts'
import { problemsOf } from '../control/settings.ts'
import type { Observer } from '../observe/observation.ts'
import type { Store } from '../store/store.ts'

export interface KeeperParts {
  readonly store: Store
  readonly control: ChangeFollower
  /** From the configuration in force. */
  readonly quota: () => QuotaConfig
  readonly observe: Observer
}

/** The keeper of a process that serves requests. The log shows its changes like those of administrators. */
export function openKeeper({ store, control, quota, observe }: KeeperParts): Keeper {
  return createKeeper({
    store,
    control,
    problemsOf: (patch, changes) => problemsOf(patch, quota(), changes),
    onChange(entry, forgotten, outcome) {
      observe({ type: 'changed', entry: entryResponse(entry), forgotten, outcome })
    },
    onUnknown: (change, author) => observe({ type: 'change_unknown', ...wishResponse(change, author) }),
    onError: (error) => observe({ type: 'internal_error', where: 'keeper', error }),
  })
}
