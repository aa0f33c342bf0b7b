import { ADDRESS_PREFIX } from '../auth/address-callers.ts'
import type { Config } from '../config/config.ts'
import { KEY_PREFIX } from '../control/user-id.ts'
import { type Books, bookWindow, countedName, LONGEST, longestOf } from '../quota/books.ts'
import type { Retention } from '../quota/history.ts'
import type { UsageRules } from '../usage/usage-query.ts'

/** The books of a configuration; `undefined` if none are kept. */
export function booksOf(config: Pick<Config, 'usage' | 'auth' | 'routes'>): Books | undefined {
  const { longestSeconds, anonymousSeconds, isAnonymous } = retentionOf(config)
  if (longestSeconds === 0) return undefined
  return { window: bookWindow(config.usage.zone), isKept: (user) => anonymousSeconds > 0 || !isAnonymous(user) }
}

/** What usage a configuration keeps, so that questions about it can be checked. */
export function usageRulesOf(config: Pick<Config, 'quota' | 'usage' | 'auth' | 'routes'>): UsageRules {
  const { quota, usage } = config
  const books = booksOf(config)?.window ?? null
  return { windows: quota.windows, books, zone: usage.zone, kept: retentionOf(config) }
}

/**
 * The store's names for the windows in which gateways of a configuration count: each window with each of its categories, a window of all
 * categories also without one, the longest window, and the books.
 */
export function countedBy(config: Pick<Config, 'quota' | 'usage' | 'auth' | 'routes'>): string[] {
  const { windows, books } = usageRulesOf(config)
  const { personal } = config.quota.baselines
  const names = windows.flatMap((window) => {
    const having = [...personal.keys()].filter((category) => personal.get(category)?.has(window.name))
    const ofAll = having.length === personal.size ? [countedName(window)] : []
    return [...ofAll, ...having.map((category) => countedName(window, category))]
  })
  const longest = longestOf(windows)
  const last = longest === null ? [] : [LONGEST + countedName(longest)]
  return [...names, ...last, ...(books === null ? [] : [countedName(books)])]
}

/** How long runs of windows are kept under one configuration. */
export function retentionOf({ usage, auth, routes }: Pick<Config, 'usage' | 'auth' | 'routes'>): Retention {
  const { anonymous, shadow, unverifiedKeys } = auth
  // Without such callers a verified user may have an id with this prefix.
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
