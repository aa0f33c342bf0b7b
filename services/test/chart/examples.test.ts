import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { wire } from '../responses.ts'
import { golden, SAMPLE, startCharts } from './harness.ts'

/** The documented examples: members, their order and their values. */

it('the documented example has the list that the service sends', async () => {
  const { ask } = await startCharts()
  const { status, text, headers } = await ask('/api/v1/charts')
  expect([status, text]).toEqual([200, wire(golden('list.json'))])
  expect(headers.get('content-type')).toContain('application/json')
})

it('the documented example has the chart that the service sends', async () => {
  const { ask } = await startCharts()
  const { status, text } = await ask('/api/v1/charts/1466:dx:5')
  const hash = createHash('md5').update(SAMPLE).digest('base64')
  expect([status, text]).toEqual([200, wire(golden('detail.json').replace('md5-base64-of-maidata', hash))])
})

it('the documented example has some of the notes that the service sends', async () => {
  const { ask } = await startCharts()
  const { status, text } = await ask('/api/v1/charts/1466:dx:5/notes')
  const documented = JSON.parse(golden('notes.json'))
  const shown = documented.notes.map((note: object) => JSON.stringify(note))
  const response = JSON.parse(text)
  const kept = response.notes.filter((note: object) => shown.includes(JSON.stringify(note)))
  expect([status, JSON.stringify({ ...response, notes: kept })]).toEqual([200, wire(golden('notes.json'))])
})

it('the documented example has notes that agree with those worked out by hand', async () => {
  const { ask } = await startCharts()
  const { json } = await ask('/api/v1/charts/1466:dx:5/notes')
  const worked = json.notes.map((note: { time: number; type: string; position: string; duration?: number }) =>
    [note.time.toFixed(3), note.type, note.position, ...(note.duration === undefined ? [] : [note.duration])].join(' '),
  )
  expect(worked).toEqual([
    '0.000 tap 1',
    '0.500 tap 2',
    '1.000 tap 3',
    '1.000 tap 7',
    '1.500 hold 4 1',
    '2.000 tap 5',
    '2.250 tap 6',
    '2.500 slide 1',
    '3.000 touch C',
    '3.250 touchHold C 0.5',
  ])
})

it('the documented example has the maidata that the service sends byte for byte, with the MD5 as its tag', async () => {
  const { ask } = await startCharts()
  const { status, text, headers } = await ask('/api/v1/charts/1466:dx:5/maidata')
  expect([status, text]).toEqual([200, SAMPLE])
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(headers.get('etag')).toBe(`"${createHash('md5').update(SAMPLE).digest('base64')}"`)
})

it('the documented example has the new key that the service sends', async () => {
  const { admin } = await startCharts()
  const { status, text, json } = await admin('/api/v1/api-keys', {
    method: 'POST',
    body: golden('create-key.request.json'),
  })
  const documented = JSON.parse(golden('create-key.json'))
  expect(status).toBe(201)
  expect(json.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(json.key).toMatch(/^mk_live_[\w-]{32}$/)
  expect(json.prefix).toBe(json.key.slice(0, documented.prefix.length))
  const { id, key, prefix } = json
  expect(text).toBe(JSON.stringify({ ...documented, id, key, prefix }))
})

it('the documented example has the errors that the service sends', async () => {
  const { ask } = await startCharts()
  const missing = await ask('/api/v1/charts/1:dx:5')
  expect([missing.status, missing.text]).toEqual([404, wire(golden('not-found.json'))])
  const stranger = await ask('/api/v1/charts', { token: null })
  expect([stranger.status, stranger.text]).toEqual([401, wire(golden('unauthorized.json'))])
})
