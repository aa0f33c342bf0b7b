import type { RequestDone } from '../../src/observe/observation.ts'

/** A request that was forwarded and answered with 200, changed in places. */
export function request(changes: Partial<RequestDone> = {}): RequestDone {
  return {
    type: 'request',
    requestId: 'r-1',
    user: 'alice',
    kind: null,
    letIn: null,
    method: 'POST',
    route: 'POST /v1/music/upsert',
    category: 'write',
    cost: 15,
    charged: null,
    plan: null,
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
    share: null,
    httpStatus: 200,
    clientStatus: 200,
    durationMs: 12.3456789,
    upstreamMs: 10,
    ...changes,
  }
}
