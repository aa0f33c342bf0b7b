import type { Charge, Decision } from './charge.ts'
import { policyName } from './ratelimit-fields.ts'
import { violations } from './refusal.ts'

/** The members that RFC 9457 adds to the body of a 429. */
export interface QuotaProblem {
  readonly type: typeof TYPE
  readonly title: string
  readonly status: 429
  readonly detail: string
  /** Names of policies as in the RateLimit-Policy field. */
  readonly 'violated-policies': readonly string[]
}

const TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded'

/** These members for a refusal, whose type is `quota-exceeded`. They are for clients that accept `application/problem+json`. */
export function problemBody(charge: Charge, decision: Decision, detail: string): QuotaProblem {
  const violated = violations(charge, decision).map(({ meter, scope, limit }) =>
    policyName(scope, meter.category, limit),
  )
  return quotaProblem(violated, detail)
}

/** @param violated names of policies */
export function quotaProblem(violated: readonly string[], detail: string): QuotaProblem {
  return {
    type: TYPE,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail,
    'violated-policies': violated,
  }
}
