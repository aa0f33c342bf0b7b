import type { Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { eventBody } from '../../src/webhook/event.ts'
import { deliver } from '../../src/webhook/webhook.ts'
import { reachedBy } from '../alerts/happenings.ts'
import { type RawReceiver, startReceiver } from './receiver.ts'

const SECRET = `whsec_${Buffer.from('a key of thirty-two bytes, exact').toString('base64')}`
const START = Date.UTC(2026, 7, 6, 14, 30)
const EVENT = { id: 'Qm9vdHN0cmFw', happening: reachedBy('alice', { startedAt: START }) }
const LONG = 60_000

let receiver: RawReceiver | null = null
afterEach(async () => {
  await receiver?.close()
  receiver = null
})

async function deliverTo(respond: (socket: Socket) => void, deadlineMs = LONG, signal = new AbortController().signal) {
  receiver = await startReceiver(respond)
  return deliver({ url: receiver.url, secret: SECRET }, EVENT, signal, deadlineMs)
}

/** What was delivered: the head's fields, and the body. */
function requestOf(text = ''): { line: string; fields: Record<string, string>; body: string } {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  return { line, body, fields: Object.fromEntries(fields.map((field) => field.toLowerCase().split(': '))) }
}

it('an event is a CloudEvent in structured JSON, signed so that the library of Standard Webhooks takes it, and nothing else', async () => {
  expect(await deliverTo((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))).toEqual({ kind: 'delivered' })
  const [text = ''] = receiver?.requests ?? []
  const { line, body } = requestOf(text)
  const head = text.split('\r\n\r\n')[0] ?? ''
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim() ?? ''
  expect(line).toBe('POST /hook?key=hidden HTTP/1.1')
  expect(field('content-type')).toBe('application/cloudevents+json; charset=utf-8')
  expect(field('webhook-id')).toBe(EVENT.id)
  const signed = {
    'webhook-id': field('webhook-id'),
    'webhook-timestamp': field('webhook-timestamp'),
    'webhook-signature': field('webhook-signature'),
  }
  expect(new Webhook(SECRET).verify(body, signed)).toEqual({
    specversion: '1.0',
    id: EVENT.id,
    source: '/tollgate/alerts/near',
    type: 'tollgate.quota.threshold',
    subject: 'personal:alice',
    time: '2026-08-06T14:30:01.000Z',
    datacontenttype: 'application/json',
    data: {
      alert: 'near',
      scope: 'personal',
      user: 'alice',
      category: 'read',
      window: '1h',
      threshold: 0.8,
      share: 0.8,
      used: 96,
      limit: 120,
      startedAt: '2026-08-06T14:30:00.000Z',
      resetAt: '2026-08-06T15:30:00.000Z',
    },
  })
  expect(() => new Webhook(SECRET).verify(`${body} `, signed)).toThrow('signature')
  expect(text).not.toContain(SECRET)
})

it('an event has the same bytes at each attempt, whatever characters the user has', () => {
  for (const user of ['alice', '用户\u0000"\\', '<b>\u2028', 'a'.repeat(300)]) {
    const happening = reachedBy(user, { startedAt: START })
    expect(eventBody({ id: 'x', happening })).toBe(eventBody({ id: 'x', happening: structuredClone(happening) }))
    expect(JSON.parse(eventBody({ id: 'x', happening }))).toMatchObject({ data: { user } })
  }
})

it('an event of failures, of an organisation and of all together says so', () => {
  const of = (more: object) =>
    JSON.parse(eventBody({ id: 'x', happening: { ...reachedBy('acme', { startedAt: START }), ...more } as never }))
  expect(of({ scope: 'organisation' })).toMatchObject({
    subject: 'organisation:acme',
    data: { organisation: 'acme' },
  })
  expect(of({ scope: 'global', subject: null }).subject).toBe('global')
  expect(of({ scope: 'failures', subject: null, used: 100, limit: 300, threshold: 0.2 })).toMatchObject({
    type: 'tollgate.failures.threshold',
    subject: 'failures',
    data: { scope: 'failures', threshold: 0.2, share: 0.3333, requests: 300, failed: 100 },
  })
})

const head = (status: string, fields = ''): string => `HTTP/1.1 ${status}\r\n${fields}\r\n`

describe('a receiver', () => {
  it.each([
    ['that fails', `${head('500 Oops', 'Content-Length: 9\r\n')}not now\r\n`, 'status 500: not now'],
    ['that says a lot', `${head('503 Busy')}${'x'.repeat(1000)}`, `status 503: ${'x'.repeat(200)}`],
    ['that says nothing', head('404 Not Found', 'Content-Length: 0\r\n'), 'status 404'],
    [
      'that redirects',
      head('302 Found', 'Location: http://127.0.0.1:1/\r\n'),
      'a redirect (302), which is not followed',
    ],
    [
      'that redirects with the method kept',
      head('308 Moved', 'Location: /x\r\n'),
      'a redirect (308), which is not followed',
    ],
  ])('%s has failed, in one line without its path', async (_what, response, error) => {
    expect(await deliverTo((socket) => socket.end(response))).toEqual({ kind: 'failed', error })
    expect(receiver?.requests).toHaveLength(1)
  })

  it.each([
    ['its path', '<pre>Cannot POST /hook?key=hidden</pre>', '<pre>Cannot POST [hidden]</pre>'],
    ['parts of it', '{"path":"\\/HOOK","key":"hidden"}', '{"path":"\\[hidden]","key":"[hidden]"}'],
    ['a part behind what is kept of the text', `${'x '.repeat(98)}hidden`, `${'x '.repeat(98)}[hid`],
  ])('a receiver that repeats %s has failed, and nobody reads that', async (_what, text, error) => {
    expect(await deliverTo((socket) => socket.end(`${head('404 Not Found')}${text}`))).toEqual({
      kind: 'failed',
      error: `status 404: ${error}`,
    })
  })

  it('a receiver that is gone has refused', async () => {
    expect(await deliverTo((socket) => socket.end(head('410 Gone')))).toMatchObject({ kind: 'refused' })
  })

  it.each([
    ['closes early', (socket: Socket) => socket.destroy()],
    ['breaks off its head', (socket: Socket) => socket.end('HTTP/1.1 200 O')],
    ['speaks no HTTP', (socket: Socket) => socket.end('220 smtp ready\r\n')],
    [
      'switches to another protocol',
      (socket: Socket) => {
        socket.write(head('101 Switching Protocols', 'Upgrade: x\r\nConnection: upgrade\r\n'))
      },
    ],
    ['sends a head without end', (socket: Socket) => pour(socket, 'HTTP/1.1 200 OK\r\n', `X: ${'x'.repeat(1000)}\r\n`)],
    [
      'sends interim responses without end',
      (socket: Socket) => pour(socket, '', head('103 Early Hints', 'Link: </x>\r\n')),
    ],
  ])('a receiver that %s has failed, and its connection ends', async (_what, respond) => {
    const delivery = await deliverTo(respond)
    expect(delivery.kind).toBe('failed')
    expect(JSON.stringify(delivery)).not.toMatch(/hidden|hook/)
    await expect.poll(() => receiver?.open()).toBe(0)
  })

  it('a receiver that takes an event and sends a body without end has taken it, and is cut off', async () => {
    expect(await deliverTo((socket) => pour(socket, head('200 OK'), 'x'.repeat(10_000)))).toEqual({ kind: 'delivered' })
    await expect.poll(() => receiver?.open()).toBe(0)
    expect(receiver?.sent()).toBeLessThan(50_000_000)
  })

  it.each([
    ['never responds', () => {}],
    ['sends its head by the byte', (socket: Socket) => pour(socket, 'HTTP/1.1 200 OK\r\n', 'x', 20)],
  ])('a receiver that %s has failed at the deadline', async (_what, respond) => {
    expect(await deliverTo(respond, 300)).toEqual({ kind: 'failed', error: 'no response in 0.3 s' })
    await expect.poll(() => receiver?.open()).toBe(0)
  })

  // A machine that stands still until the deadline is no fault of ours.
  it('a receiver that takes an event and sends its body by the byte has taken it, and is cut off at the deadline', {
    retry: 2,
    timeout: 60_000,
  }, async () => {
    const slowly = (socket: Socket) => pour(socket, head('200 OK'), 'x', 20)
    expect(await deliverTo(slowly, 5000)).toEqual({ kind: 'delivered' })
    await expect.poll(() => receiver?.open()).toBe(0)
  })

  it('a receiver that responds to nobody any more has failed: the error has the address and no path', async () => {
    await deliverTo((socket) => socket.end(head('200 OK')))
    const { url = '' } = receiver ?? {}
    await receiver?.close()
    receiver = null
    const delivery = await deliver({ url, secret: SECRET }, EVENT, new AbortController().signal)
    expect(delivery).toMatchObject({ kind: 'failed', error: expect.stringContaining('ECONNREFUSED') })
    expect(JSON.stringify(delivery)).not.toMatch(/hidden|hook/)
  })

  it('a receiver is left alone when the process stops', async () => {
    const stop = new AbortController()
    const delivery = deliverTo(() => stop.abort(), LONG, stop.signal)
    expect(await delivery).toMatchObject({ kind: 'failed' })
    await expect.poll(() => receiver?.open()).toBe(0)
    expect(await deliver({ url: receiver?.url ?? '', secret: SECRET }, EVENT, stop.signal)).toMatchObject({
      kind: 'failed',
    })
    expect(receiver?.requests).toHaveLength(1)
  })
})

/** Writes the same again and again, until nobody takes it. @param everyMs with pauses */
function pour(socket: Socket, first: string, more: string, everyMs = 0): void {
  socket.write(first)
  const write = (): void => {
    if (socket.destroyed) return
    if (everyMs > 0) {
      socket.write(more)
      setTimeout(write, everyMs)
    } else if (socket.write(more)) setImmediate(write)
    else socket.once('drain', write)
  }
  write()
}
