/** The paths at which others ask. */
export const PATHS = {
  auth: '/auth',
  /** A prefix, which the path of the original follows. */
  envoy: '/envoy',
  decide: '/decide',
  settle: '/settle',
  refund: '/refund',
  document: '/openapi.json',
} as const

/** The paths at which services ask by JSON. */
export const OF_SERVICES: ReadonlySet<string> = new Set([PATHS.decide, PATHS.settle, PATHS.refund, PATHS.document])
