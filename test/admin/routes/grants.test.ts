import { afterEach, beforeEach, expect, test } from 'vitest'
import { NOW, type Running, startAdmin } from '../running.ts'

let running: Running
let read: string[]
beforeEach(async () => {
  read = []
  const readHistory: Running['store']['readHistory'] = (scope, id) => {
    read.push(`${scope} ${id}`)
    return running.store.readHistory(scope, id)
  }
  running = await startAdmin({ broken: { readHistory } })
})
afterEach(() => running.stop())

test('the list of grants reads once what is kept of an owner, however many grants the owner has', async () => {
  const until = new Date(NOW + 86_400_000).toISOString()
  for (const owner of [{ user: 'bob' }, { user: 'bob' }, { organisation: 'bob' }, { user: 'bob' }, { user: 'ann' }]) {
    const body = { ...owner, category: 'read', tokens: 5, until, reason: 'r' }
    expect((await running.call('POST', '/api/grants', { body })).status).toBe(201)
  }
  read = []
  const { json } = await running.call('GET', '/api/grants')
  expect([json.total, json.grants.length]).toEqual([5, 5])
  expect(read.sort()).toEqual(['organisation bob', 'personal ann', 'personal bob'])
})
