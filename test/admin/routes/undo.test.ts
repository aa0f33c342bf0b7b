import { beforeEach, expect, test } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import { type Running, startAdmin, VIEWER } from '../running.ts'

let running: Running
let seen: Observation[]
beforeEach(async () => {
  seen = []
  running = await startAdmin({ observe: (one) => void seen.push(one) })
})

const patch = (body: unknown) => running.call('PATCH', '/api/quota', { body })
const undo = (id: number | string, body?: unknown) => running.call('POST', `/api/audit/${id}/undo`, { body })
const audit = async () => (await running.call('GET', '/api/audit')).json.entries
const put = (limit: number) =>
  running.call('PUT', '/api/users/bob/override', { body: { read: { '1h': limit }, reason: 'a big event' } })

test('the undo of a change of settings is a change of its own, with its line in the log', async () => {
  await patch({ mode: 'loose' })
  await patch({ mode: 'conservative', baselines: { personal: { read: { '1h': 5 } } } })
  await patch({ global: { multiplier: 2 } })
  const { status, json } = await undo(2, { reason: 'a wrong number' })
  expect(status).toBe(200)
  const entry = {
    version: 4,
    who: 'admin',
    what: 'settings',
    to: { mode: 'loose', global: { multiplier: 2 } },
    why: 'undo of 2: a wrong number',
  }
  expect(json.entry).toMatchObject(entry)
  expect((await audit())[0]).toMatchObject(entry)
  expect(seen.at(-1)).toMatchObject({ type: 'changed', entry })
})

test('whoever undoes twice changes nothing the second time', async () => {
  await patch({ mode: 'loose' })
  expect((await undo(1)).json.entry).toMatchObject({ version: 2, to: {}, why: 'undo of 1' })
  expect(await undo(1)).toMatchObject({ status: 200, json: { entry: null } })
  expect(await audit()).toHaveLength(2)
})

test('an undo can be undone', async () => {
  await patch({ mode: 'loose' })
  await undo(1)
  expect((await undo(2)).json.entry).toMatchObject({ to: { mode: 'loose' }, why: 'undo of 2' })
})

test('what was changed since is shown with both values, and stays', async () => {
  await patch({ mode: 'loose', shadow: true })
  await patch({ mode: 'conservative' })
  expect(await undo(1)).toMatchObject({
    status: 412,
    json: { error: 'changed_since', changed: [{ path: 'mode', set: 'loose', now: 'conservative' }] },
  })
  await put(5)
  await put(6)
  const { status, json } = await undo(3)
  expect(status).toBe(412)
  expect(json.changed).toMatchObject([
    { path: '', set: { limits: { read: { '1h': 5 } } }, now: { limits: { read: { '1h': 6 } } } },
  ])
  expect(await audit()).toHaveLength(4)
})

test('the undo of an override brings back the one before', async () => {
  await put(5)
  await put(6)
  expect((await undo(2)).status).toBe(200)
  expect((await running.call('GET', '/api/users/bob')).json.override).toMatchObject({ limits: { read: { '1h': 5 } } })
  expect((await undo(1)).status).toBe(200)
  expect((await running.call('GET', '/api/users/bob')).json.override).toBeNull()
})

test('one of two administrators who undo the same change at once makes it', async () => {
  await patch({ mode: 'loose' })
  const both = await Promise.all([undo(1), undo(1)])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect(both.filter(({ json }) => json.entry !== null)).toHaveLength(1)
  expect(await audit()).toHaveLength(2)
})

test('resets and tokens cannot be undone, and it says why', async () => {
  await running.call('POST', '/api/users/bob/reset', { body: { reason: 'a mistake' } })
  await running.call('POST', '/api/tokens', { body: { user: 'bob', name: 'laptop' } })
  for (const id of [1, 2]) expect(await undo(id)).toMatchObject({ status: 422, json: { error: 'not_undoable' } })
})

test('a change that the audit does not keep is not found', async () => {
  await patch({ mode: 'loose' })
  for (const id of ['2', '0', '01', 'x', '1e0', '9'.repeat(30)])
    expect(await undo(id)).toMatchObject({ status: 404, json: { error: 'not_found' } })
})

test('only administrators undo, and a reason is a good one', async () => {
  await patch({ mode: 'loose' })
  const headers = { authorization: `Bearer ${VIEWER}` }
  expect((await running.call('POST', '/api/audit/1/undo', { headers })).status).toBe(403)
  expect((await undo(1, { reason: '' })).status).toBe(400)
  expect((await undo(1, { force: true })).status).toBe(400)
})
