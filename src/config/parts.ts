import type { Config, RouteConfig } from './config.ts'

/** Rules in a part. To take one over from another thread or process holds the event loop for about a millisecond. */
const PART = 500

/** A configuration in pieces, so that whoever takes it over does its other work between them: 10,000 rules at once would hold that up. */
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
