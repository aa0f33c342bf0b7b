import { beforeEach, expect, test } from 'vitest'
import { NOW, type Running, startAdmin, VIEWER } from '../running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

const iso = (ms: number): string => new Date(NOW + ms).toISOString()
const HOUR = 3_600_000
const patch = (body: unknown, headers = {}) => running.call('PATCH', '/api/quota', { body, headers })
const cancel = (id: string, options = {}) => running.call('DELETE', `/api/quota/scheduled/${id}`, options)
const audit = async () => (await running.call('GET', '/api/audit')).json.entries

test('a change that is to begin later changes nothing yet, and is listed', async () => {
  const body = { mode: 'loose', from: iso(HOUR), until: iso(2 * HOUR), reason: 'the final' }
  const { status, json } = await patch(body)
  expect(status).toBe(200)
  const value = { mode: 'loose' }
  const listed = { from: iso(HOUR), until: iso(2 * HOUR), value, who: 'admin', why: 'the final' }
  const layers = [{ ...listed, state: 'to_come' }]
  const ends = { added: [{ until: iso(2 * HOUR), value }], dropped: [], guards: [] }
  expect(json).toMatchObject({ version: 1, mode: 'normal', changed: [], layers, ends })
  expect(await audit()).toMatchObject([{ who: 'admin', to: { layers: [listed] }, why: 'the final' }])
})

test('a change with an end is in force at once, and its end is listed', async () => {
  const { json } = await patch({ mode: 'loose', shadow: true, until: iso(HOUR) })
  expect(json).toMatchObject({ mode: 'loose', shadow: true, changed: ['mode', 'shadow'] })
  expect(json.layers).toMatchObject([{ until: iso(HOUR), state: 'in_force', value: { mode: 'loose', shadow: true } }])
  const again = await patch({ mode: 'loose' })
  expect(again.json).toMatchObject({ version: 2, mode: 'loose' })
  expect(again.json.ends).toMatchObject({ added: [], dropped: [{ until: iso(HOUR), value: { mode: 'loose' } }] })
  expect(again.json.layers).toMatchObject([{ value: { shadow: true } }, { id: 'permanent', value: { mode: 'loose' } }])
  expect((await patch({ shadow: null })).json.layers).toBeUndefined()
})

test('a preview says which ends the change adds and drops, as its response does', async () => {
  await patch({ mode: 'loose', shadow: true, until: iso(HOUR) })
  for (const body of [
    { mode: 'loose' },
    { mode: 'conservative', until: iso(2 * HOUR) },
    { shadow: true, until: iso(3 * HOUR) },
    { global: { enabled: false } },
    { mode: 'normal', from: iso(HOUR), until: iso(2 * HOUR) },
  ]) {
    const { ends } = (await running.call('POST', '/api/quota/preview', { body })).json
    const without = (all: object[]) => all.map((end) => ({ ...end, id: expect.any(String) }))
    const { json } = await patch(body)
    expect(json.ends).toEqual({ ...ends, added: without(ends.added) })
  }
})

test('what is scheduled can be cancelled, once', async () => {
  const { json } = await patch({ mode: 'loose', from: iso(HOUR) })
  const id = json.layers[0].id
  expect((await cancel(id, { headers: { authorization: `Bearer ${VIEWER}` } })).status).toBe(403)
  expect((await cancel(id, { headers: { 'if-match': '"7"' } })).status).toBe(412)
  const cancelled = await cancel(id, { body: { reason: 'rain' } })
  expect(cancelled).toMatchObject({ status: 200, json: { ends: { added: [], dropped: [] } } })
  expect((await cancel(id)).status).toBe(404)
  expect((await running.call('GET', '/api/quota')).json.layers).toBeUndefined()
  expect(await audit()).toMatchObject([{ what: 'settings', to: {}, why: 'rain' }, {}])
})

test('an end that is cancelled leaves the change for good, and the response names the end', async () => {
  const { json } = await patch({ mode: 'loose', until: iso(HOUR) })
  const { status, json: cancelled } = await cancel(json.layers[0].id)
  expect(status).toBe(200)
  expect(cancelled.ends).toMatchObject({ dropped: [{ until: iso(HOUR), value: { mode: 'loose' } }], guards: [] })
  expect((await running.call('GET', '/api/quota')).json).toMatchObject({ mode: 'loose', changed: ['mode'] })
})

test('the undo of a change takes its end along', async () => {
  await patch({ mode: 'loose', until: iso(HOUR) })
  expect((await running.call('POST', '/api/audit/1/undo')).json.entry).toMatchObject({ to: {} })
})

test('what was only scheduled is undone as long as it has not begun', async () => {
  await patch({ mode: 'loose', from: iso(HOUR), until: iso(2 * HOUR) })
  const undone = await running.call('POST', '/api/audit/1/undo')
  expect(undone).toMatchObject({ status: 200, json: { ends: { dropped: [{ until: iso(2 * HOUR) }] } } })
  expect((await running.call('GET', '/api/quota')).json.layers).toBeUndefined()
})

test('the same value with another end moves the end, also to an earlier moment', async () => {
  await patch({ mode: 'conservative', until: iso(HOUR) })
  const { status, json } = await patch({ mode: 'conservative', until: iso(3 * HOUR) })
  expect(status).toBe(200)
  expect(json.layers).toMatchObject([{ until: iso(3 * HOUR) }])
  expect(json.ends).toMatchObject({ added: [{ until: iso(3 * HOUR) }], dropped: [{ until: iso(HOUR) }] })
  expect((await patch({ mode: 'conservative', until: iso(2 * HOUR) })).json.layers).toMatchObject([
    { until: iso(2 * HOUR) },
  ])
})

test('two administrators at once each schedule a change', async () => {
  await Promise.all([patch({ mode: 'loose', from: iso(HOUR) }), patch({ shadow: true, from: iso(2 * HOUR) })])
  const { layers } = (await running.call('GET', '/api/quota')).json
  expect(layers.map(({ from }: { from: string }) => from)).toEqual([iso(2 * HOUR), iso(HOUR)])
})

test('a guard is shown with what was counted, and ends by null, or once its own values are set again', async () => {
  const guard = { for: '10m', refused: '5%' }
  const { status, json } = await patch({ mode: 'conservative', guard, reason: 'less' })
  expect(status).toBe(200)
  const shown = { until: iso(600_000), refused: 0.05 }
  expect(json.layers).toMatchObject([{ value: { mode: 'conservative' }, who: 'admin', why: 'less' }])
  expect(json.layers[0].guard).toEqual({ ...shown, counted: { requests: 0, refused: 0 } })
  expect((await audit())[0]).toMatchObject({ to: { layers: [{ guard: shown }] } })
  expect((await running.call('GET', '/api/in-force')).json.layers[0].guard).toEqual(shown)
  expect((await patch({ guard: null })).json).not.toHaveProperty('layers')
  expect((await running.call('GET', '/api/quota')).json.mode).toBe('conservative')
  await patch({ mode: 'loose', guard })
  const other = await patch({ shadow: true, guard })
  expect(other.json.ends.guards).toEqual([])
  expect(other.json.layers).toMatchObject([{ guard: {} }, { guard: {} }, { id: 'permanent' }])
  const again = await patch({ mode: 'normal' })
  expect(again.json.ends.guards).toMatchObject([{ value: { mode: 'loose' } }])
  expect(again.json.layers).toMatchObject([{ value: { shadow: true }, guard: {} }, { id: 'permanent' }])
  const later = await patch({ mode: 'loose', from: iso(HOUR), guard })
  expect(later.json.layers[0]).toMatchObject({ state: 'to_come', guard: { until: iso(HOUR + 600_000), refused: 0.05 } })
})

test('a wish that cannot be kept is refused with the place and the cure', async () => {
  const problem = (path: string) => ({ status: 400, json: { problems: [{ path }] } })
  expect(await patch({ mode: 'loose', from: iso(-1) })).toMatchObject(problem('from'))
  expect(await patch({ mode: 'loose', until: iso(0) })).toMatchObject(problem('until'))
  expect(await patch({ mode: 'loose', from: iso(HOUR), until: iso(HOUR) })).toMatchObject(problem('until'))
  expect(await patch({ mode: 'loose', from: iso(400 * 24 * HOUR) })).toMatchObject(problem('from'))
  expect(await patch({ mode: 'loose', from: 'tomorrow' })).toMatchObject(problem('from'))
  expect(await patch({ from: iso(HOUR) })).toMatchObject(problem('from'))
  expect(await patch({ mode: null, until: iso(HOUR) })).toMatchObject(problem('until'))
  expect(await patch({ mode: null, guard: { for: '1m', refused: '5%' } })).toMatchObject(problem('guard'))
  expect(await patch({ mode: 'loose', guard: { for: '1m', refused: '0%' } })).toMatchObject(problem('guard.refused'))
  expect(await patch({ mode: 'loose', guard: { for: '10m' } })).toMatchObject(problem('guard.refused'))
  for (const it of [{ toString: 1 }, ['10m'], ['5%'], 10, null]) {
    expect(await patch({ mode: 'loose', guard: { for: it, refused: '5%' } })).toMatchObject(problem('guard.for'))
    expect(await patch({ mode: 'loose', guard: { for: '10m', refused: it } })).toMatchObject(problem('guard.refused'))
  }
  expect(await patch({ baselines: { personal: { gone: {} } }, from: iso(HOUR) })).toMatchObject({ status: 400 })
  expect((await audit()).length).toBe(0)
})

test('no more than 20 changes are scheduled at a time', async () => {
  const replies = []
  for (let i = 0; i < 21; i++) replies.push(await patch({ mode: 'loose', from: iso(HOUR + i) }))
  expect(replies.map(({ status }) => status)).toEqual([...Array(20).fill(200), 400])
  expect(replies.at(-1)?.json.msg).toContain('cancel one')
})

test('a preview of such a change is one of what it sets', async () => {
  const body = { mode: 'conservative', from: iso(HOUR) }
  const { json } = await running.call('POST', '/api/quota/preview', { body })
  expect(json.effective.personal.read['1h']).toBe(90)
})
