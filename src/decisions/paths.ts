/** The paths at which others ask. */
export const PATHS = {
  auth: '/auth',
  /** The path of the original request follows this prefix. */
  envoy: '/envoy',
  decide: '/decide',
  settle: '/settle',
  refund: '/refund',
  document: '/openapi.json',
} as const

/** The paths at which services ask by JSON. */
export const OF_SERVICES: ReadonlySet<string> = new Set([PATHS.decide, PATHS.settle, PATHS.refund, PATHS.document])
