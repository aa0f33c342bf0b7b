import type { Examples } from '../example.ts'

/** Access keys and the audit. */
export const records: Examples = {
  'GET /api/tokens': {
    response: {
      tokens: [
        {
          id: '59ebb250-5f72-49b4-96c4-5d9b169b6f09',
          user: 'bob',
          name: 'nightly job',
          plan: 'team',
          organisation: 'acme',
          createdAt: '2026-11-20T10:17:00.000Z',
          expiresAt: '2027-11-20T00:00:00.000Z',
          revokedAt: null,
        },
      ],
    },
  },
  'POST /api/tokens': {
    body: {
      user: 'bob',
      name: 'nightly job',
      plan: 'team',
      organisation: 'acme',
      expiresAt: '2027-11-20T00:00:00.000Z',
    },
    response: {
      id: '59ebb250-5f72-49b4-96c4-5d9b169b6f09',
      user: 'bob',
      name: 'nightly job',
      plan: 'team',
      organisation: 'acme',
      createdAt: '2026-11-20T10:17:00.000Z',
      expiresAt: '2027-11-20T00:00:00.000Z',
      revokedAt: null,
      token: 'gw_YochtPJUAe0eWoWX897CvXVDiVfGvdoH43njAA',
    },
  },
  'DELETE /api/tokens': {
    parameters: { user: 'bob' },
    body: { reason: 'bob has left' },
    response: { user: 'bob', revoked: 2 },
  },
  'DELETE /api/tokens/{id}': {
    parameters: { id: '59ebb250-5f72-49b4-96c4-5d9b169b6f09' },
    body: { reason: 'it leaked' },
  },
  'GET /api/audit': {
    parameters: { limit: '2' },
    response: {
      entries: [
        {
          version: 7,
          at: '2026-11-20T10:17:00.000Z',
          who: 'admin',
          what: 'organisation_override',
          subject: 'acme',
          from: null,
          to: { limits: { read: { '1h': 2000 } }, reason: 'a big event', expiresAt: '2026-11-21T10:15:00.000Z' },
          why: 'a big event',
        },
        {
          version: 6,
          at: '2026-11-20T10:17:00.000Z',
          who: 'admin',
          what: 'token_revoked',
          subject: '59ebb250-5f72-49b4-96c4-5d9b169b6f09',
          from: null,
          to: { user: 'bob', name: 'nightly job' },
          why: 'it leaked',
        },
      ],
      next: 6,
      forgotten: 0,
    },
  },
  'POST /api/audit/{id}/undo': {
    parameters: { id: '4' },
    body: { reason: 'wrong user' },
    response: {
      entry: {
        version: 8,
        at: '2026-11-20T10:17:00.000Z',
        who: 'admin',
        what: 'override',
        subject: 'alice',
        from: {
          limits: { read: { '1h': 500 } },
          bypassGlobal: false,
          shadow: false,
          reason: 'import of a season',
          expiresAt: '2026-11-21T10:15:00.000Z',
        },
        to: null,
        why: 'undo of 4: wrong user',
      },
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
}
