import { expect, test } from 'vitest'
import type { TakenEvent } from '../../src/alerts/alert-store.ts'
import { alertNotice } from '../../src/contract/admin.ts'
import { eventBody } from '../../src/webhook/event.ts'
import { reachedBy } from '../alerts/happenings.ts'

const NOW = Date.UTC(2026, 10, 20, 10, 10)
const window = (more: object) => ({ ...reachedBy('acme', { startedAt: NOW }), ...more }) as TakenEvent['happening']

test.each<[string, TakenEvent['happening']]>([
  ['a user', window({})],
  ['an organisation', window({ scope: 'organisation' })],
  ['all users together', window({ scope: 'global', subject: null, limit: 0 })],
  ['failures', window({ alert: 'broken', scope: 'failures', subject: null, used: 50, limit: 200 })],
])('the event of an alert on %s is what the document of the admin API describes', (_whose, happening) => {
  const body = JSON.parse(eventBody({ id: 'event-1', happening }))
  expect(alertNotice.parse(body)).toEqual(body)
  expect(alertNotice.safeParse({ ...body, data: { ...body.data, more: 1 } }).success).toBe(false)
})

test('a test says that it is one, and of which alert', () => {
  const body = JSON.parse(eventBody({ id: 'event-1', tested: 'near', at: NOW }))
  expect(alertNotice.parse(body)).toMatchObject({
    type: 'tollgate.alert.test',
    source: '/tollgate/alerts/near',
    data: { scope: 'test', alert: 'near' },
  })
})
