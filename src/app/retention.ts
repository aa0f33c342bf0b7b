import { ADDRESS_PREFIX } from '../auth/address-callers.ts'
import type { Config } from '../config/config.ts'
import { KEY_PREFIX } from '../control/user-id.ts'
import type { Retention } from '../quota/history.ts'

/** How long runs of windows are kept, by one configuration. */
export function retentionOf({ usage, auth, routes }: Pick<Config, 'usage' | 'auth' | 'routes'>): Retention {
  const { anonymous, shadow, unverifiedKeys } = auth
  // Without such callers a verified user may have an id that begins so.
  const hasAddresses = anonymous !== null || shadow || routes.some((route) => !route.public && route.anonymous === true)
  const hasKeys = unverifiedKeys !== null
  const inSeconds = (ms: number): number => Math.ceil(ms / 1000)
  return {
    longestSeconds: inSeconds(usage.keepMs),
    shorterSeconds: inSeconds(usage.shorterMs),
    anonymousSeconds: inSeconds(usage.anonymousMs),
    isAnonymous: (user) =>
      (hasAddresses && user.startsWith(ADDRESS_PREFIX)) || (hasKeys && user.startsWith(KEY_PREFIX)),
  }
}
