import { portion } from '../../quota/decimal.ts'
import { type ScopedLimits, UNLIMITED } from '../../quota/policy.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding } from '../problems.ts'
import { formatDuration } from '../units.ts'

const PATH = ['quota', 'reserve']

/** A reserve needs global limits, and users must be able to become known. */
export function checkReserve({ quota: { reserve, global, baselines } }: PartialConfig): Finding[] {
  if (reserve === undefined) return []
  const { share, knownAfterMs, rememberMs } = reserve
  const findings: Finding[] = []
  if (rememberMs <= knownAfterMs) {
    const message = `is not longer than known_after, ${formatDuration(knownAfterMs)}, so users are forgotten before they are known: lengthen it`
    findings.push({ path: [...PATH, 'remember'], message })
  }
  if (global?.enabled === false) {
    const message =
      'keeps nothing while quota.global.enabled is false: switch the global limits on, or remove the reserve'
    findings.push({ path: PATH, severity: 'warning', message })
  }
  if (baselines?.global.size === 0) {
    const message =
      'keeps a part of the global limits, and there are none: add quota.baselines.global, or remove the reserve'
    findings.push({ path: PATH, severity: 'warning', message })
  }
  if (baselines !== undefined) findings.push(...checkShare(share, baselines))
  return findings
}

/** If a share is less than a token, nothing is kept, which is hardly intended. */
function checkShare(share: number, { global }: ScopedLimits): Finding[] {
  for (const [category, limits] of global) {
    for (const [window, limit] of limits) {
      if (limit === 0 || limit === UNLIMITED || portion(limit, share) >= 1) continue
      const of = `the global limit of window ${window} in category ${category}, ${limit}`
      const message = `is less than one token of ${of}, so it keeps nothing there: raise it`
      return [{ path: [...PATH, 'share'], severity: 'warning', message }]
    }
  }
  return []
}
