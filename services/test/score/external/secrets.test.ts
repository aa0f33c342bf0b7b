import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type Trouble, troubles } from '../../fakes/platform.ts'
import { KEY, startUpdates, TOKEN } from './running.ts'

/** The beginning of both: not even a part of a token may be seen. */
const CANARY = 'canary-'

/** A platform that says back what it was sent, in every place that we read. */
const echo: Trouble = (request, response) => {
  const token = String(request.headers['x-user-token'] ?? request.headers['import-token'])
  const record = { id: token, song_id: token, type: token, level_index: token, achievements: token }
  // The second one lies across the place where a message is cut.
  const message = `${token} ${'x'.repeat(155)}${token}`
  const body = { success: true, message, msg: token, data: [record, token], records: [record, token] }
  response.writeHead(request.url?.includes('scores') ? 400 : 403, { 'retry-after': token }).end(JSON.stringify(body))
}
const echoRecords: Trouble = (request, response) => {
  const token = String(request.headers['x-user-token'] ?? request.headers['import-token'])
  const record = { id: token, song_id: token, type: token, level_index: token, achievements: token, [token]: token }
  response.end(JSON.stringify({ success: true, [token]: token, data: [record, token], records: [record, token] }))
}
const echoRate: Trouble = (request, response) => {
  response.writeHead(429, { 'retry-after': String(request.headers['x-user-token']) }).end()
}

it("a user's token for a platform is in the header of the request to the platform and nowhere else", async () => {
  const started = await startUpdates({ limits: { read_timeout: '100ms' } })
  const { service, lxns, fish, trouble, updateLxns, updateFish, records, errors, database, close } = started
  await service.importFixture({ users: { alice: { scores: [{ musicId: 837, level: 1, achievement: 1 }] } } })
  const said: string[] = []
  const ways = [null, echo, echoRecords, echoRate, troubles.html(), troubles.reset, troubles.slowHead, troubles.notHttp]
  for (const way of ways) {
    trouble(way)
    for (const mode of ['pull', 'push', 'both']) {
      for (const { text, headers } of [await updateLxns({ mode }), await updateFish({ mode })]) {
        said.push(text, JSON.stringify([...headers]))
      }
    }
  }
  // Bodies that are refused before anything is asked.
  for (const more of [{ mode: KEY }, { mode: TOKEN, unknown: 1 }, { key: [KEY] }, { token: { a: TOKEN } }]) {
    said.push((await updateLxns(more)).text, (await updateFish(more)).text)
  }
  const sent = [...lxns.requests, ...fish.requests]
  expect(sent.length).toBeGreaterThan(30)
  for (const { headers, path, body, method } of sent) {
    const { 'x-user-token': key, 'import-token': token, ...others } = headers
    expect(key ?? token).toBe(key === undefined ? TOKEN : KEY)
    expect([key, token].filter((each) => each !== undefined).length).toBe(1)
    expectNoCanary(JSON.stringify([method, path, others, body]))
  }
  expectNoCanary(said.join('\n'))
  expectNoCanary(JSON.stringify([records, errors]))
  const folder = dirname(database)
  const stored = () =>
    readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'latin1'))
      .join('\n')
  expect(stored()).toContain('alice')
  expectNoCanary(stored())
  await close()
  expectNoCanary(stored())
})

it("a user's token for a platform is not in the log either when the service itself fails", async () => {
  const { post, updateLxns, errors, lxns } = await startUpdates({
    clock: () => {
      throw new Error('no clock')
    },
  })
  expect((await updateLxns()).status).toBe(500)
  expect((await post('/v1/charge', { chargeId: 2 })).status).toBe(500)
  expect(errors.length).toBe(2)
  for (const { err } of errors as { err: Error }[]) expectNoCanary(`${err.stack} ${JSON.stringify(err)} ${err.cause}`)
  expect(lxns.requests).toEqual([])
})

it.each([
  ['nothing', ''],
  ['a line break', `a\r\nX-Other: b`],
  ['a line feed', 'a\nb'],
  ['a NUL', 'a\0b'],
  ['a tab', 'a\tb'],
  ['a DEL', 'a\x7fb'],
  ['what no header can carry', '令牌'],
  ['a letter of Latin-1', 'caf\u00e9'],
  ['a space at its end', 'a '],
  ['more than any header', 'a'.repeat(8193)],
  ['a number', 1],
  ['null', null],
  ['a list', ['a']],
  ['no token at all', undefined],
])("a user's token for a platform of %s is refused before anything is sent", async (_what, token) => {
  const { post, lxns, fish } = await startUpdates()
  const refused = { status: 400, json: { error: 'invalid_request', returnCode: 1205 } }
  expect(await post('/v1/update-lx', { key: token })).toMatchObject(refused)
  expect(await post('/v1/update-fish', { token })).toMatchObject(refused)
  expect([lxns.requests, fish.requests]).toEqual([[], []])
})

it.each(['a', 'a b', '%0d%0a', '"\\', '~'.repeat(8192)])(
  "a user's token for a platform of visible ASCII, as %j, is sent as it stands",
  async (key) => {
    const { post, lxns } = await startUpdates({ lxnsOptions: { key } })
    expect((await post('/v1/update-lx', { key })).status).toBe(200)
    expect(lxns.requests[0]?.headers['x-user-token']).toBe(key)
  },
)

it("a user's token for a platform has the name that its platform has, and no other", async () => {
  const { post } = await startUpdates()
  expect((await post('/v1/update-lx', { token: KEY })).status).toBe(400)
  expect((await post('/v1/update-lx', { key: KEY, token: TOKEN })).status).toBe(400)
  expect((await post('/v1/update-fish', { key: TOKEN })).status).toBe(400)
  expect((await post('/v1/update-fish', { token: TOKEN, qrcode: 'SGWC', keychip: 1, type: 2 })).status).toBe(200)
})

it.each(['pul', '', 'PULL', null, 1, ['pull']])(
  "a user's token for a platform does not go with the mode %j",
  async (mode) => {
    const { updateLxns, lxns } = await startUpdates()
    expect(await updateLxns({ mode })).toMatchObject({ status: 400, json: { details: [{ field: 'mode' }] } })
    expect(lxns.requests).toEqual([])
  },
)

it("a user's token for a platform cannot choose where it is sent", async () => {
  const { updateLxns, lxns, fish } = await startUpdates()
  for (const field of ['base_url', 'url', 'host']) expect((await updateLxns({ [field]: fish.url })).status).toBe(400)
  expect([lxns.requests, fish.requests]).toEqual([[], []])
})

function expectNoCanary(text: string): void {
  const at = text.indexOf(CANARY)
  expect(at, text.slice(Math.max(at - 200, 0), at + 100)).toBe(-1)
}
