import type { RefusingLimit, RequestDone } from '../../src/observe/observation.ts'

/** A request that was forwarded and answered with 200, changed in places. */
export function request(changes: Partial<RequestDone> = {}): RequestDone {
  return {
    type: 'request',
    requestId: 'r-1',
    traceparent: null,
    trace: null,
    user: 'alice',
    kind: null,
    letIn: null,
    method: 'POST',
    route: 'POST /v1/music/upsert',
    category: 'write',
    cost: 15,
    charged: null,
    plan: null,
    planLabel: null,
    namedPlan: changes.plan ?? null,
    organisation: null,
    refusedBy: null,
    decidedAt: null,
    exempt: null,
    shadowed: false,
    replayed: false,
    voice: 'alice',
    outcome: 'forwarded',
    error: null,
    reason: null,
    lenient: [],
    notUpgraded: null,
    share: null,
    httpStatus: 200,
    clientStatus: 200,
    durationMs: 12.3456789,
    access: null,
    upstreamMs: 10,
    ...changes,
  }
}

/** What refused a request for 15 tokens, changed in places. */
export function refusingLimit(changes: Partial<RefusingLimit> = {}): RefusingLimit {
  const startedAt = Date.UTC(2026, 7, 6, 15)
  return {
    scope: 'personal',
    category: 'write',
    window: '1h',
    limit: 120,
    used: 118,
    requested: 15,
    resetAt: '2026-08-06T16:00:00.000Z',
    startedAt,
    at: startedAt + 600_000,
    source: 'baseline',
    ...changes,
  }
}
