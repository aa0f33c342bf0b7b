import type { Config, CorsConfig } from '../config/config.ts'
import type { CorsRules } from '../respond/cors.ts'
import type { ErrorBody, Presentation } from '../respond/presentation.ts'

/** How a configuration presents the gateway's own responses; `null` if it does not say. */
export function presentationOf({ cors, errors }: Config): Presentation | null {
  if (cors === null && errors.size === 0) return null
  const bodies = [...errors].flatMap(([code, { contentType, template }]) =>
    template === null ? [] : [[code, { contentType: contentType.text, template } satisfies ErrorBody] as const],
  )
  return { cors: cors && corsRules(cors), bodies: new Map(bodies) }
}

function corsRules({ origins, credentials, expose, allowHeaders, maxAgeMs }: CorsConfig): CorsRules {
  const named = origins.includes('*') ? null : new Set(origins)
  return { origins: named, credentials, expose, allowHeaders, maxAgeSeconds: Math.floor(maxAgeMs / 1000) }
}
