import type { Config } from '../config/config.ts'
import type { Presentation } from '../respond/presentation.ts'

/** How a configuration presents the gateway's own responses; `null` if it says nothing of that. */
export function presentationOf({ cors }: Config): Presentation | null {
  if (cors === null) return null
  const { origins, credentials, expose, allowHeaders, maxAgeMs } = cors
  const named = origins.includes('*') ? null : new Set(origins)
  const maxAgeSeconds = Math.floor(maxAgeMs / 1000)
  return { cors: { origins: named, credentials, expose, allowHeaders, maxAgeSeconds } }
}
