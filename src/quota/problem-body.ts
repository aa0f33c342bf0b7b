import type { Charge, Decision } from './charge.ts'
import { policyName } from './ratelimit-fields.ts'
import { violations } from './refusal.ts'

/** The 429 as a problem of type `quota-exceeded`, for clients that accept `application/problem+json`. */
export function problemBody(charge: Charge, decision: Decision, detail: string): object {
  const violated = violations(charge, decision).map(({ scope, limit }) => policyName(scope, charge.category, limit))
  return quotaProblem(violated, detail)
}

/** @param violated names of policies */
export function quotaProblem(violated: readonly string[], detail: string): object {
  return {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail,
    'violated-policies': violated,
  }
}
