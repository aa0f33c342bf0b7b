import type { Config, RouteConfig } from './config.ts'

/** The most rules of a part. So few block the event loop only for a moment when a part comes from another thread or process. */
const PART = 500

/** A configuration in pieces, because taking over 10,000 rules at once would delay other work. */
export interface Parts {
  readonly rest: Config
  readonly rules: readonly (readonly RouteConfig[])[]
}

export function inParts(config: Config): Parts {
  const { routes } = config
  const parts = Array.from({ length: Math.ceil(routes.length / PART) }, (_, i) =>
    routes.slice(i * PART, (i + 1) * PART),
  )
  return { rest: { ...config, routes: [] }, rules: parts }
}
