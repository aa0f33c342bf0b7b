import type { Examples } from '../example.ts'

/** Probes, the document itself, the session. */
export const machine: Examples = {
  'GET /livez': { response: { live: true } },
  'GET /readyz': { response: { ready: true } },
  'GET /metrics': {
    note: 'One line of many.',
    response: 'tollgate_quota_refusals_total{category="read",scope="personal"} 7\n',
  },
  'POST /drain': {
    parameters: { state: 'on' },
    response: {
      draining: true,
      msg: 'Out of service: /readyz is 503, and every response closes its connection. A second POST /drain ends that.',
    },
  },
  'GET /openapi.json': {
    note: 'Its first two members.',
    response: { openapi: '3.1.1', info: { title: 'Tollgate admin API', version: '0.1.0' } },
  },
  'POST /api/session': {
    body: { token: 'the-value-of-admin.token' },
    response: { name: 'admin', role: 'admin', expiresAt: '2026-11-20T22:15:00.000Z' },
  },
  'GET /api/session': { response: { name: 'admin', role: 'admin', expiresAt: null } },
  'DELETE /api/session': {},
}
