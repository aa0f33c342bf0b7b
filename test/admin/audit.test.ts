import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Running, startAdmin } from './running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})
afterEach(() => running.stop())

const get = (path: string) => running.call('GET', path)

test('the audit is read page by page', async () => {
  for (let i = 0; i < 5; i++) await running.call('POST', '/api/users/alice/reset', { body: { reason: `${i}` } })
  const whys: string[] = []
  let before = ''
  for (let pages = 0; pages < 3; pages++) {
    const { json } = await get(`/api/audit?limit=2${before}`)
    whys.push(...json.entries.map(({ why }: { why: string }) => why))
    before = `&before=${json.next}`
    expect(json.next === null).toBe(pages === 2)
  }
  expect(whys).toEqual(['4', '3', '2', '1', '0'])
  // A full page that ends with the very first change is the last one.
  expect((await get('/api/audit?limit=5')).json.next).toBeNull()
  for (const before of ['x', '0', '1e1', '', '9007199254740992'])
    expect(await get(`/api/audit?before=${before}`)).toMatchObject({
      status: 400,
      json: { problems: [{ path: 'before' }] },
    })
})
