import type { Happening } from '../alerts/alert.ts'
import type { TakenEvent } from '../alerts/alert-store.ts'

/** What receivers get: an event in the structured JSON form of CloudEvents 1.0. The same bytes at each attempt. */
export function eventBody({ id, happening }: Pick<TakenEvent, 'id' | 'happening'>): string {
  const { alert, at } = happening
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: `/tollgate/alerts/${alert}`,
    type: happening.scope === 'failures' ? 'tollgate.failures.threshold' : 'tollgate.quota.threshold',
    subject: subjectOf(happening),
    time: iso(at),
    datacontenttype: 'application/json',
    data: dataOf(happening),
  })
}

function subjectOf(happening: Happening): string {
  if (happening.scope === 'failures' || happening.subject === null) return happening.scope
  return `${happening.scope}:${happening.subject}`
}

function dataOf(happening: Happening): Record<string, unknown> {
  const { alert, scope, threshold, startedAt, endsAt } = happening
  if (scope === 'failures') {
    const { requests, failed } = happening
    const share = shareOf(failed, requests)
    return { alert, scope, threshold, share, requests, failed, startedAt: iso(startedAt), endsAt: iso(endsAt) }
  }
  const { subject, category, window, used, limit } = happening
  return {
    alert,
    scope,
    ...(scope === 'personal' && { user: subject }),
    ...(scope === 'organisation' && { organisation: subject }),
    ...{ category, window, threshold, share: shareOf(used, limit), used, limit },
    ...{ startedAt: iso(startedAt), resetAt: iso(endsAt) },
  }
}

/** Of a limit of 0 all is used. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? 1 : Math.round((part / whole) * 10_000) / 10_000
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
