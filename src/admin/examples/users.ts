import type { Examples } from '../example.ts'
import { hourOf } from './hour.ts'

/** That of alice. */
const override = {
  version: 4,
  limits: { read: { '1h': 500 } },
  bypassGlobal: false,
  shadow: false,
  reason: 'import of a season',
  expiresAt: '2026-11-21T10:15:00.000Z',
}

/** Users and their overrides. */
export const users: Examples = {
  'GET /api/users': {
    parameters: { order: 'tokens', limit: '2', recent: '24h' },
    response: {
      users: [
        {
          user: 'bob',
          plan: { name: 'team', from: 'credential', unknown: null },
          windows: {
            read: [hourOf('Personal', 600, 460)],
          },
          override: null,
          blocked: false,
          standing: { state: 'room', by: null },
          recent: { tokens: 460, steps: [...Array(23).fill(0), 460] },
        },
        {
          user: 'alice',
          plan: { name: null, from: null, unknown: null },
          windows: {
            read: [hourOf('Personal', 500, 118)],
          },
          override,
          blocked: false,
          standing: { state: 'room', by: null },
          recent: { tokens: 118, steps: [...Array(23).fill(0), 118] },
        },
      ],
      recent: { from: '2026-11-19T10:16:00.000Z', to: '2026-11-20T10:16:00.000Z', window: '1h', complete: true },
      next: null,
    },
  },
  'GET /api/users/{id}': {
    parameters: { id: 'alice' },
    response: {
      user: 'alice',
      plan: { name: null, from: null, unknown: null },
      windows: {
        read: [
          { ...hourOf('Personal', 500, 118), source: 'override', steps: ['override 500 (import of a season)'] },
          { ...hourOf('Global', 1200, 668), source: 'baseline', steps: ['baseline 1200 (tollgate.yaml:10)'] },
        ],
      },
      override,
      standing: { state: 'room', by: null },
    },
  },
  'GET /api/users/{id}/export': {
    parameters: { id: 'alice' },
    response: {
      user: 'alice',
      at: '2026-11-20T10:16:00.000Z',
      firstChargeAt: '2026-10-02T08:00:00.000Z',
      plan: null,
      organisation: 'acme',
      override,
      accessKeys: [
        {
          id: '9e2c1a84-5b7d-4f0a-8c3e-1d6f2b9a7e50',
          user: 'alice',
          name: 'laptop',
          createdAt: '2026-11-01T09:00:00.000Z',
          expiresAt: null,
          revokedAt: null,
        },
      ],
      usage: [
        {
          category: 'read',
          window: '1h',
          seconds: 3600,
          start: '2026-11-20T09:30:00.000Z',
          tokens: 118,
          running: true,
        },
      ],
      refusals: [],
      alerts: [],
      audit: [
        {
          version: 4,
          at: '2026-11-20T10:15:00.000Z',
          who: 'admin',
          what: 'override',
          subject: 'alice',
          from: null,
          to: { limits: { read: { '1h': 500 } }, bypassGlobal: false, shadow: false, reason: override.reason },
          why: null,
        },
      ],
    },
  },
  'DELETE /api/users/{id}': {
    parameters: { id: 'alice', forget: '1' },
    body: { reason: 'ticket 4711' },
    response: { alias: 'forgotten-5f0c9be1a2d4', version: 8 },
  },
  'GET /api/users/{id}/override': {
    parameters: { id: 'alice' },
    response: override,
  },
  'PUT /api/users/{id}/override': {
    parameters: { id: 'alice', 'If-Match': '"0"' },
    body: { read: { '1h': 500 }, reason: 'import of a season', expiresAt: '2026-11-21T10:15:00.000Z' },
    response: { ...override, exempt: false, warnings: [], ends: { added: [], dropped: [], guards: [] } },
  },
  'DELETE /api/users/{id}/override': {
    parameters: { id: 'alice' },
    body: { reason: 'the import is done' },
    response: {
      ends: {
        added: [],
        dropped: [
          {
            id: 'end-1795256100000',
            until: '2026-11-21T10:15:00.000Z',
            value: {
              limits: { read: { '1h': 500 } },
              bypassGlobal: false,
              shadow: false,
              reason: 'import of a season',
            },
          },
        ],
        guards: [],
      },
    },
  },
  'POST /api/users/{id}/reset': { parameters: { id: 'alice' }, body: { reason: 'a loop in our own client' } },
  'GET /api/overrides': {
    response:
      '{"user":"alice","read":{"1h":500},"reason":"import of a season","expiresAt":"2026-11-21T10:15:00.000Z"}\n',
  },
  'PUT /api/overrides': {
    parameters: { dry_run: '1' },
    body: '{"user":"carol","read":{"1h":50},"reason":"a busy week"}\n',
    response: {
      dryRun: true,
      refused: null,
      merge: false,
      version: 8,
      total: 1,
      added: 1,
      changed: 0,
      removed: 0,
      unchanged: 0,
      endsAdded: 0,
      endsDropped: 0,
      changes: [
        {
          user: 'carol',
          from: null,
          to: { read: { '1h': 50 }, reason: 'a busy week' },
          ends: { added: [], dropped: [], guards: [] },
        },
      ],
      warnings: [],
      warningCount: 0,
      ended: [],
      endedCount: 0,
    },
  },
  'GET /api/in-force/users': {
    response: {
      users: [
        {
          user: 'alice',
          override,
        },
      ],
      total: 1,
    },
  },
  'GET /api/in-force/users/{id}': {
    parameters: { id: 'alice' },
    response: {
      user: 'alice',
      limits: {
        read: [
          {
            scope: 'Personal',
            window: '1h',
            limit: 500,
            source: 'override',
            steps: ['override 500 (import of a season)'],
          },
          {
            scope: 'Global',
            window: '1h',
            limit: 1200,
            source: 'baseline',
            steps: ['baseline 1200 (tollgate.yaml:10)'],
          },
        ],
      },
      override,
      exempt: false,
    },
  },
}
