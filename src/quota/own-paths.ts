/** Paths for which the gateway itself responds to GET and HEAD, whatever the route map says. */

/** The quota of the caller. */
export const STATUS_PATHS: ReadonlySet<string> = new Set(['/me/quota', '/quota'])

/** What the caller used. */
export const USAGE_PATH = '/me/usage'

/** What the configuration can publish for everybody, by the key that publishes it. */
export const PUBLIC_PATHS = { failureRate: '/usage/failure-rate', prices: '/quota/prices' } as const

/** Which of these paths the configuration publishes. */
export type Published = { readonly [K in keyof typeof PUBLIC_PATHS]: boolean }

export function publicPaths(published: Published): ReadonlySet<string> {
  const keys = Object.keys(PUBLIC_PATHS) as (keyof Published)[]
  return new Set(keys.filter((key) => published[key]).map((key) => PUBLIC_PATHS[key]))
}
