/** Where others ask. */
export const PATHS = {
  auth: '/auth',
  /** A prefix: behind it stands the path of the original. */
  envoy: '/envoy',
  decide: '/decide',
  settle: '/settle',
  refund: '/refund',
  document: '/openapi.json',
} as const

/** Where services ask by JSON. */
export const OF_SERVICES: ReadonlySet<string> = new Set([PATHS.decide, PATHS.settle, PATHS.refund, PATHS.document])
