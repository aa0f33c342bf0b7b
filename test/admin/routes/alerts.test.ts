import { beforeEach, expect, test } from 'vitest'
import { eventOf, reachedBy } from '../../alerts/happenings.ts'
import { type RawReceiver, startReceiver } from '../../webhook/receiver.ts'
import { NOW, type Running, startAdmin, VIEWER, YAML } from '../running.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const ALERTS = `
alerts:
  - { name: near, scope: personal, category: read, window: 1h, at: [100%, 80%], webhook: { url: "https://hooks.example.org:8443/T0/hidden?key=hidden", secret: "${SECRET}" } }
  - { name: broken, scope: failures, at: [20%], min_requests: 50, webhook: { url: "https://hooks.example.org/hidden", secret: "${SECRET}" } }
`

let running: Running
beforeEach(async () => {
  running = await startAdmin({ yaml: YAML + ALERTS })
})

test('the alerts of the configuration are shown with what is pending, and nothing secret of their receivers', async () => {
  await running.store.raiseAlerts([eventOf(reachedBy('alice', { startedAt: NOW }))])
  const { json, text } = await running.call('GET', '/api/alerts')
  expect(json.alerts).toEqual([
    {
      name: 'near',
      scope: 'personal',
      category: 'read',
      window: '1h',
      minRequests: null,
      at: [0.8, 1],
      receiver: 'https://hooks.example.org:8443',
      pending: 1,
    },
    {
      name: 'broken',
      scope: 'failures',
      category: null,
      window: null,
      minRequests: 50,
      at: [0.2],
      receiver: 'https://hooks.example.org',
      pending: 0,
    },
  ])
  expect(text).not.toMatch(/hidden|whsec/)
})

test('the newest events are shown with what became of them, of one alert or of all', async () => {
  const failures = { ...reachedBy(''), scope: 'failures', subject: null, used: 50, limit: 200 } as const
  await running.store.raiseAlerts([
    eventOf(reachedBy('alice', { startedAt: NOW })),
    eventOf({ ...failures, alert: 'broken', startedAt: NOW }),
  ])
  const [taken] = await running.store.takeAlerts([{ alert: 'near', most: 1 }], 60_000)
  if (taken === undefined) throw new Error('nothing taken')
  await running.store.finishAlert(taken, { state: 'pending', inMs: 5000, error: 'status 500' })
  const { json } = await running.call('GET', '/api/alerts?alert=near')
  expect(json.alerts).toHaveLength(1)
  expect(json.events).toEqual([
    {
      id: taken.id,
      alert: 'near',
      scope: 'personal',
      subject: 'alice',
      category: 'read',
      window: '1h',
      threshold: 0.8,
      used: 96,
      limit: 120,
      at: '2026-11-20T10:10:01.000Z',
      startedAt: '2026-11-20T10:10:00.000Z',
      endsAt: '2026-11-20T11:10:00.000Z',
      state: 'pending',
      attempts: 1,
      nextAttemptAt: '2026-11-20T10:10:05.000Z',
      doneAt: null,
      lastError: 'status 500',
    },
  ])
  const all = (await running.call('GET', '/api/alerts')).json.events
  expect(all).toHaveLength(2)
  expect(all).toContainEqual(expect.objectContaining({ scope: 'failures', used: 50, limit: 200, subject: null }))
  expect((await running.call('GET', '/api/alerts?limit=1')).json.events).toHaveLength(1)
  expect((await running.call('GET', '/api/alerts?alert=other')).json).toEqual({ alerts: [], former: [], events: [] })
  expect((await running.call('GET', '/api/alerts?limit=0')).status).toBe(400)
})

test('a test is sent to the receiver of an alert, signed and once, and its response is shown', async () => {
  const receivers: RawReceiver[] = []
  for (const line of ['204 No Content', '403 Forbidden']) {
    receivers.push(await startReceiver((socket) => socket.end(`HTTP/1.1 ${line}\r\n\r\n`)))
  }
  const alerts = receivers.map(
    ({ url }, i) =>
      `  - { name: a${i}, scope: global, category: read, window: 1h, at: [80%], webhook: { url: "${url}", secret: "${SECRET}" } }`,
  )
  running = await startAdmin({ yaml: `${YAML}alerts:\n${alerts.join('\n')}\n` })
  const send = (name: string, headers = {}) => running.call('POST', `/api/alerts/${name}/test`, { headers })
  expect((await send('a0')).json).toEqual({ delivered: true, error: null })
  expect((await send('a1')).json).toEqual({ delivered: false, error: 'status 403' })
  const [request = ''] = receivers[0]?.requests ?? []
  expect(request).toContain('"type":"tollgate.alert.test"')
  expect(request).toMatch(/^webhook-signature: v1,/im)
  expect((await send('a2')).status).toBe(404)
  expect((await send('a0', { authorization: `Bearer ${VIEWER}` })).status).toBe(403)
  expect(receivers.map(({ requests }) => requests.length)).toEqual([1, 1])
  expect((await running.call('GET', '/api/alerts')).json.events).toEqual([])
  for (const receiver of receivers) await receiver.close()
})
