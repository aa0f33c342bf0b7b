import { type CorsRules, corsFields } from './cors.ts'
import type { OwnResponse } from './response.ts'

/** How one configuration presents the gateway's own responses. */
export interface Presentation {
  readonly cors: CorsRules
}

/** What a response of the gateway's own may depend on besides what it says. */
export interface Asked {
  /** Of the page that asks; `undefined` if nothing says so. */
  readonly origin: string | undefined
}

/** @param presentation `null` if responses go out as they are */
export function presented(presentation: Presentation | null, response: OwnResponse, { origin }: Asked): OwnResponse {
  if (presentation === null) return response
  return { ...response, headers: [...response.headers, ...corsFields(presentation.cors, origin)] }
}
