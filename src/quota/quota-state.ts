import { type Charge, type Decision, type Meter, SCOPE_NAMES } from './charge.ts'
import { type Limit, promised, type Usage } from './window.ts'

/** How a request stands to the limits that were promised: pure. */

/**
 * Whether an accepted charge lies beyond what was promised in some window of some meter. It is asked of each accepted request, and so makes
 * nothing.
 * @param beyond tokens that its first meter is charged beyond what the decision has counted, or given back if below 0
 * @param beyondOthers the same for each of the further meters. Default none
 */
export function isOver(
  { limits: own, others }: Charge,
  decision: Decision,
  beyond = 0,
  beyondOthers: readonly number[] = NOTHING,
): boolean {
  const limits = decision.limits ?? own
  if (isOverIn(limits.personal, decision.personal, beyond)) return true
  if (limits.organisation !== null && isOverIn(limits.organisation, decision.organisation ?? [], beyond)) return true
  if (limits.global !== null && isOverIn(limits.global, decision.global ?? [], beyond)) return true
  if (others === undefined) return false
  for (let i = 0; i < others.length; i++) {
    if (isOver(others[i] as Meter, decision.others?.[i] as Decision, beyondOthers[i])) return true
  }
  return false
}

const NOTHING: readonly number[] = []

function isOverIn(limits: readonly Limit[], usages: readonly Usage[], beyond: number): boolean {
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i] as Limit
    if (limit.over !== undefined && (usages[i]?.used ?? 0) + beyond > promised(limit)) return true
  }
  return false
}

/**
 * Of the tokens of an accepted charge those beyond what was promised. Each is counted once, also if it lies beyond several windows: it
 * is always the last ones that do.
 * @param cost what it cost in the end @returns 0 to `cost`. Of its first meter alone
 */
export function overTokens(charge: Meter, decision: Decision, cost: number): number {
  let most = 0
  for (const scope of SCOPE_NAMES) {
    const limits = charge.limits[scope]
    if (limits === null) continue
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i] as Limit
      const used = decision[scope]?.[i]?.used
      if (limit.over === undefined || used === undefined) continue
      most = Math.max(most, used - charge.cost + cost - promised(limit))
    }
  }
  return Math.min(most, cost)
}
