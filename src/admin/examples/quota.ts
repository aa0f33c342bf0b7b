import type { Examples } from '../example.ts'
import { hourOf } from './hour.ts'

/** What GET /api/quota, its change and GET /api/in-force have in common. */
const inForce = {
  version: 0,
  mode: 'normal',
  global: { enabled: true, multiplier: 1 },
  baselines: { personal: { read: { '1h': 120 } }, global: { read: { '1h': 1200 } } },
  custom: null,
  shadow: false,
  factor: 1,
  effective: { personal: { read: { '1h': 120 } }, global: { read: { '1h': 1200 } } },
  plans: { team: { personal: { read: { '1h': 600 } }, organisation: { read: { '1h': 1000 } } } },
  defaultPlan: null,
  file: {
    mode: 'normal',
    global: { enabled: true, multiplier: 1 },
    baselines: { personal: { read: { '1h': 120 } }, global: { read: { '1h': 1200 } } },
    custom: null,
    shadow: false,
  },
  changed: [],
  categories: ['read'],
  cheapest: { read: 2 },
  windowLengths: [{ name: '1h', seconds: 3600 }],
  warnings: [],
}

const adaptive = {
  factor: 0.9375,
  requests: 400,
  failed: 8,
  share: 0.02,
  settled: 0.02,
  trust: 1,
  minRequests: 100,
  why: '8 of 400 requests that count failed in the last 30 minutes (2%), so the factor is 0.9375.',
}

const windows = {
  read: [hourOf('Global', 1200, 668)],
}

/** The settings of the quota. */
export const quota: Examples = {
  'GET /api/quota': { note: 'With one category and one window.', response: { ...inForce, adaptive, windows } },
  'PATCH /api/quota': {
    like: 'GET /api/quota',
    parameters: { 'If-Match': '"0"' },
    body: {
      baselines: { personal: { read: { '1h': 150 } } },
      reason: 'more room for exports',
      until: '2026-11-27T10:00:00.000Z',
      guard: { for: '10m', refused: '5%' },
    },
    response: {
      ...inForce,
      version: 1,
      layers: [
        {
          id: '7d1be9d64f81',
          from: '2026-11-20T10:15:00.000Z',
          until: '2026-11-27T10:00:00.000Z',
          state: 'in_force',
          value: { baselines: { personal: { read: { '1h': 150 } } } },
          guard: { until: '2026-11-20T10:25:00.000Z', refused: 0.05, counted: { requests: 0, refused: 0 } },
          who: 'admin',
          why: 'more room for exports',
        },
      ],
      baselines: { personal: { read: { '1h': 150 } }, global: { read: { '1h': 1200 } } },
      effective: { personal: { read: { '1h': 150 } }, global: { read: { '1h': 1200 } } },
      changed: ['baselines.personal.read.1h'],
      adaptive,
      windows,
      ends: {
        added: [
          {
            id: '7d1be9d64f81',
            until: '2026-11-27T10:00:00.000Z',
            value: { baselines: { personal: { read: { '1h': 150 } } } },
          },
        ],
        dropped: [],
        guards: [],
      },
    },
  },
  'DELETE /api/quota/scheduled/{id}': {
    parameters: { id: '7d1be9d64f81' },
    body: { reason: 'it shall stay' },
    response: {
      ends: {
        added: [],
        dropped: [
          {
            id: '7d1be9d64f81',
            until: '2026-11-27T10:00:00.000Z',
            value: { baselines: { personal: { read: { '1h': 150 } } } },
          },
        ],
        guards: [],
      },
    },
  },
  'POST /api/quota/preview': {
    body: { baselines: { personal: { read: { '1h': 100 } } } },
    response: {
      scanned: 3,
      movedCount: 3,
      movesNobody: false,
      ends: { added: [], dropped: [], guards: [] },
      blockedCount: 1,
      newlyBlockedCount: 1,
      freedCount: 0,
      blocked: [
        {
          user: 'alice',
          scope: 'Personal',
          category: 'read',
          window: '1h',
          limit: 100,
          used: 118,
          resetAt: '2026-11-20T11:10:00.000Z',
          blockedNow: false,
        },
      ],
      organisations: { scanned: 1, blockedCount: 0, newlyBlockedCount: 0, freedCount: 0, blocked: [] },
      everybody: [],
      newUsers: [],
      windows: { read: [{ window: '1h', limit: 1200, used: 668, remaining: 532, limitNow: 1200, remainingNow: 532 }] },
      effective: { personal: { read: { '1h': 100 } }, global: { read: { '1h': 1200 } } },
      warnings: [],
      yesterday: {
        from: '2026-11-19T10:15:00.000Z',
        to: '2026-11-20T10:15:00.000Z',
        complete: true,
        scanned: 3,
        rows: [
          {
            category: 'read',
            window: '1h',
            of: { users: 3, runs: 3, tokens: 668 },
            above: { users: 1, runs: 1, tokens: 18 },
          },
        ],
      },
    },
  },
  'GET /api/quota/distribution': {
    note: '`percentiles` has 101 values.',
    parameters: { category: 'read', window: '1h', settings: 'true' },
    response: {
      category: 'read',
      window: '1h',
      scope: 'personal',
      plan: null,
      at: '2026-11-20T10:15:00.000Z',
      counted: 3,
      exempt: 1,
      others: 2,
      shares: [
        { from: 0, count: 0 },
        { from: 10, count: 1 },
        { from: 20, count: 0 },
        { from: 30, count: 0 },
        { from: 40, count: 0 },
        { from: 50, count: 0 },
        { from: 60, count: 0 },
        { from: 70, count: 1 },
        { from: 80, count: 0 },
        { from: 90, count: 1 },
        { from: 100, count: 0 },
      ],
      percentiles: [...Array(34).fill(90), ...Array(33).fill(118), ...Array(34).fill(460)],
    },
  },
  'POST /api/quota/reset': {
    body: { scope: 'global', category: 'read', window: '1h', reason: 'a load test' },
    response: { from: { '1h': 668 } },
  },
  'GET /api/in-force': {
    like: 'GET /api/quota',
    response: { ...inForce, adaptive: { factor: 0.9375 }, storeOutage: { read: 0 } },
  },
}
