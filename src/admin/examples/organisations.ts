import type { Examples } from '../example.ts'

/** Organisations and their overrides. */
export const organisations: Examples = {
  'GET /api/organisations': {
    response: {
      organisations: [
        {
          organisation: 'acme',
          plan: { name: 'team', from: 'credential', unknown: null },
          override: {
            version: 7,
            limits: { read: { '1h': 2000 } },
            reason: 'a big event',
            expiresAt: '2026-11-21T10:15:00.000Z',
          },
          blocked: false,
          windows: {
            read: [
              {
                window: '1h',
                limits: { team: 1000 },
                limit: 2000,
                used: 550,
                startedAt: '2026-11-20T10:10:00.000Z',
                resetAt: '2026-11-20T11:10:00.000Z',
              },
            ],
          },
        },
      ],
      next: null,
    },
  },
  'GET /api/organisations/{id}': {
    parameters: { id: 'acme' },
    response: {
      organisation: 'acme',
      plan: { name: 'team', from: 'credential', unknown: null },
      windows: {
        read: [
          {
            window: '1h',
            limits: { team: 1000 },
            limit: 2000,
            used: 550,
            startedAt: '2026-11-20T10:10:00.000Z',
            resetAt: '2026-11-20T11:10:00.000Z',
            source: 'override of organisation',
            steps: ['override of the organisation: 2000 (a big event)'],
          },
        ],
      },
      override: {
        version: 7,
        limits: { read: { '1h': 2000 } },
        reason: 'a big event',
        expiresAt: '2026-11-21T10:15:00.000Z',
      },
      blocked: false,
    },
  },
  'GET /api/organisations/{id}/override': {
    parameters: { id: 'acme' },
    response: {
      version: 7,
      limits: { read: { '1h': 2000 } },
      reason: 'a big event',
      expiresAt: '2026-11-21T10:15:00.000Z',
    },
  },
  'PUT /api/organisations/{id}/override': {
    parameters: { id: 'acme', 'If-Match': '"0"' },
    body: { read: { '1h': 2000 }, reason: 'a big event', expiresAt: '2026-11-21T10:15:00.000Z' },
    response: {
      version: 7,
      limits: { read: { '1h': 2000 } },
      reason: 'a big event',
      expiresAt: '2026-11-21T10:15:00.000Z',
      warnings: [],
      ends: { added: [], dropped: [], guards: [] },
    },
  },
  'DELETE /api/organisations/{id}/override': {
    parameters: { id: 'acme' },
    body: { reason: 'the event is over' },
    response: {
      ends: {
        added: [],
        dropped: [
          {
            id: 'end-1795256100000',
            until: '2026-11-21T10:15:00.000Z',
            value: { limits: { read: { '1h': 2000 } }, reason: 'a big event' },
          },
        ],
        guards: [],
      },
    },
  },
  'POST /api/organisations/{id}/reset': { parameters: { id: 'acme' }, body: { reason: 'a load test' } },
  'GET /api/in-force/organisations': {
    response: {
      organisations: [
        {
          organisation: 'acme',
          override: {
            version: 7,
            limits: { read: { '1h': 2000 } },
            reason: 'a big event',
            expiresAt: '2026-11-21T10:15:00.000Z',
          },
        },
      ],
      total: 1,
    },
  },
}
