import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { atEnd } from '../../../test/setup/at-end.ts'
import { startFish } from '../fakes/fish.ts'
import { startLxns } from '../fakes/lxns.ts'
import { type Fake, troubles } from '../fakes/platform.ts'
import { locked } from '../other-process.ts'
import { type ServiceResponse, wire } from '../responses.ts'
import { catalogueOf, DAY, fileOf, golden, NOON, record, song, startScore } from './harness.ts'

/** The documented examples, which are the files of services/score/examples/, byte for byte: members, their order and their values. */

const used = new Set<string>()

function request(name: string): string {
  used.add(`${name}.request.json`)
  return golden(`${name}.request`)
}

/** @param name with the status, as in `charge.200` */
function expectGolden(response: Pick<ServiceResponse, 'status' | 'text'>, name: string): void {
  used.add(`${name}.json`)
  expect([response.status, response.text]).toEqual([Number(name.split('.')[1]), wire(golden(name))])
}

/** The demo user of the bundled fixture, as alice. */
const BUNDLED = JSON.parse(readFileSync(new URL('../../../config/score/fixture.json', import.meta.url), 'utf8'))

async function imported() {
  const score = await startScore()
  await score.service.importFixture({ users: { alice: BUNDLED.users.demo } })
  return score
}

it('POST /v1/music/upsert responds with the exact example, and after it with the fuzzy one', async () => {
  const { post } = await startScore()
  expectGolden(await post('/v1/music/upsert', request('music-upsert-exact')), 'music-upsert-exact.200')
  expectGolden(await post('/v1/music/upsert', request('music-upsert-fuzzy')), 'music-upsert-fuzzy.200')
})

it('POST /v1/music/upsert responds with the example of a DX score out of range', async () => {
  const { post } = await startScore()
  expectGolden(await post('/v1/music/upsert', { musicList: [record({ dxScore: 3000 })] }), 'music-upsert.422')
})

it('POST /v1/music/delete responds with its example', async () => {
  const { post } = await startScore()
  await post('/v1/music/upsert', record())
  expectGolden(await post('/v1/music/delete', request('music-delete')), 'music-delete.200')
})

it('POST /v1/user/music responds with its example', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/user/music', request('user-music')), 'user-music.200')
})

it('POST /v1/charge, /v1/user/charge and /v1/ticket/clear respond with their examples', async () => {
  const { post, clock } = await imported()
  for (const before of [2 * DAY, DAY]) {
    clock.now = NOON - before
    await post('/v1/charge', request('charge'))
  }
  clock.now = NOON
  expectGolden(await post('/v1/charge', request('charge')), 'charge.200')
  expectGolden(await post('/v1/user/charge', '{}'), 'user-charge.200')
  expectGolden(await post('/v1/ticket/clear', request('ticket-clear')), 'ticket-clear.200')
  expectGolden(await post('/v1/ticket/clear', request('ticket-clear')), 'ticket-clear-again.200')
})

it('GET /v1/charge/queue is the stub that clients know', async () => {
  const { post } = await startScore()
  expectGolden(await post('/v1/charge/queue', undefined, { method: 'GET' }), 'charge-queue.200')
})

it('GET /v1/health responds with pong, to anybody', async () => {
  const { url } = await startScore()
  const response = await fetch(`${url}/v1/health`)
  expectGolden({ status: response.status, text: await response.text() }, 'health.200')
})

it('POST /v1/user/data responds with its example', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/user/data', '{}'), 'user-data.200')
})

it('POST /v1/user/item-list responds with its example', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/user/item-list', request('user-item-list')), 'user-item-list.200')
  expect((await post('/v1/user/item-list', '{}')).json.businessData.length).toBe(3)
})

it('POST /v1/user/kaleidx-scope responds with its example', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/user/kaleidx-scope', '{}'), 'user-kaleidx-scope.200')
})

it('POST /v1/user/region and /v1/user/preview respond with their examples', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/user/region', '{}'), 'user-region.200')
  expectGolden(await post('/v1/user/preview', '{}'), 'user-preview.200')
})

it('POST /v1/music/clear responds with the number of scores', async () => {
  const { post } = await imported()
  expectGolden(await post('/v1/music/clear', request('music-clear')), 'music-clear.200')
  expect((await post('/v1/music/clear', request('music-clear'))).json.businessData).toEqual({ deleted: 0 })
})

/** The platform with the tokens of the documented requests. */
async function withPlatforms() {
  const lxns = await startLxns({ key: JSON.parse(request('update-lx')).key })
  const fish = await startFish({ token: JSON.parse(request('update-fish')).token })
  for (const fake of [lxns, fish]) atEnd(() => fake.close())
  const external = { lxns: { base_url: lxns.url }, fish: { base_url: fish.url } }
  return { lxns, fish, external }
}

it('POST /v1/update-lx responds with its example: 1702 records, of which 12 are new, 31 better and 2 unknown', async () => {
  const { lxns, external } = await withPlatforms()
  const songs = Array.from({ length: 340 }, (_, i) => song(20 + i))
  const catalogue = fileOf(catalogueOf(songs))
  const { service, post, clock } = await startScore({ external, catalogue })
  const charts = songs.flatMap(({ musicId }) => [0, 1, 2, 3, 4].map((level) => ({ musicId, level }))).slice(0, 1700)
  const stored = charts.slice(12).map((chart, i) => ({ ...chart, achievement: i < 31 ? 900_000 : 1_000_000 }))
  await service.importFixture({ users: { alice: { scores: stored } } })
  for (const { musicId, level } of charts) {
    lxns.put({ id: musicId, type: 'standard', level_index: level, achievements: 100, dx_score: 0 })
  }
  lxns.put({ id: 1484, type: 'dx', level_index: 2, achievements: 100, dx_score: 0 })
  // The platform has it twice: it counts twice and is named once.
  lxns.scores.set('again', { id: 1484, type: 'dx', level_index: 2, achievements: 99, dx_score: 0 })
  lxns.meanwhile = () => {
    clock.now += 2150
  }
  expectGolden(await post('/v1/update-lx', request('update-lx')), 'update-lx.200')
})

it('POST /v1/update-lx takes over the documented response of the platform', async () => {
  const { lxns, external } = await withPlatforms()
  const { post } = await startScore({ external })
  used.add('lxns-scores.json')
  lxns.trouble = troubles.response(200, JSON.parse(golden('lxns-scores')))
  await post('/v1/update-lx', request('update-lx'))
  const [{ method, path, headers }] = lxns.requests as [Fake['requests'][number]]
  expect([method, path, headers['x-user-token']]).toEqual([
    'GET',
    '/api/v0/user/maimai/player/scores',
    '<LXNS X-User-Token>',
  ])
  expect((await post('/v1/user/music')).json.businessData.userMusicList[0].userMusicDetailList[0]).toEqual(
    JSON.parse(golden('music-upsert-exact.200')).businessData.userMusicDetailList[0],
  )
})

it('POST /v1/update-lx sends the documented body to the platform', async () => {
  const { lxns, external } = await withPlatforms()
  const { post } = await startScore({ external })
  await post('/v1/music/upsert', request('music-upsert-exact'))
  await post('/v1/update-lx', { ...JSON.parse(request('update-lx')), mode: 'push' })
  used.add('lxns-upload.json')
  const [{ method, path, headers, body }] = lxns.requests as [Fake['requests'][number]]
  expect([method, path, headers['x-user-token'], headers['content-type'], body]).toEqual([
    'POST',
    '/api/v0/user/maimai/player/scores',
    '<LXNS X-User-Token>',
    'application/json',
    wire(golden('lxns-upload')),
  ])
})

it('POST /v1/update-lx understands the documented rejection of a whole batch', async () => {
  const { lxns, external } = await withPlatforms()
  const { post, service } = await startScore({ external, catalogue: fileOf(catalogueOf([song(11484), song(11466)])) })
  const scores = [11466, 11484].map((musicId) => ({ musicId, level: 2, achievement: 1_000_000 }))
  await service.importFixture({ users: { alice: { scores } } })
  used.add('lxns-invalid-score.json')
  lxns.trouble = [troubles.response(400, JSON.parse(golden('lxns-invalid-score')))]
  const response = await post('/v1/update-lx', { ...JSON.parse(request('update-lx')), mode: 'push' })
  expect(response.json.businessData.push).toEqual({
    sent: 2,
    accepted: 1,
    skipped: 1,
    skippedRecords: [{ id: 1484, type: 'dx', level_index: 2, reason: 'rejected' }],
  })
})

it('POST /v1/update-fish takes over the documented response, and sends the documented body', async () => {
  const { fish, external } = await withPlatforms()
  const { post } = await startScore({ external })
  await post('/v1/music/upsert', request('music-upsert-exact'))
  const pulled = JSON.parse(golden('fish-records'))
  used.add('fish-records.json').add('fish-update-records.json')
  fish.trouble = [troubles.response(200, pulled)]
  const body = { ...JSON.parse(request('update-fish')), mode: 'both' }
  expectGolden(await post('/v1/update-fish', body), 'update-fish.200')
  const [pull, push] = fish.requests
  expect([pull?.method, pull?.path, pull?.headers['import-token']]).toEqual([
    'GET',
    '/api/maimaidxprober/player/records',
    '<Diving-Fish Import-Token>',
  ])
  expect([push?.method, push?.path, push?.headers['import-token'], push?.headers['content-type']]).toEqual([
    'POST',
    '/api/maimaidxprober/player/update_records',
    '<Diving-Fish Import-Token>',
    'application/json',
  ])
  const [altale, signal] = JSON.parse(push?.body ?? '')
  expect(`[${JSON.stringify(signal)}]`).toBe(wire(golden('fish-update-records')))
  expect(altale).toEqual({
    title: 'Altale',
    type: 'SD',
    level_index: 1,
    achievements: 101,
    dxScore: 744,
    fc: 'app',
    fs: 'fsd',
  })
})

it('refusals have the documented form', async () => {
  const { lxns, fish, external } = await withPlatforms()
  const { post, url, database } = await startScore({ external, busyTimeout: 50 })
  expectGolden(await post('/v1/charge', { chargeId: 4 }), 'invalid-request.400')
  const stranger = await fetch(`${url}/v1/user/data`, { method: 'POST' })
  expectGolden({ status: stranger.status, text: await stranger.text() }, 'unauthorized.401')
  expectGolden(await post('/v1/music/upsert', record({ musicId: 9999 })), 'music-not-found.404')
  expectGolden(await post('/v1/music/delete', request('music-delete')), 'score-not-found.404')

  const update = (trouble: Fake['trouble']) => {
    lxns.trouble = trouble
    return post('/v1/update-lx', request('update-lx'))
  }
  expectGolden(await update(troubles.response(401, {})), 'external-auth-failed.424')
  expectGolden(await update(troubles.response(429, {})), 'external-rate-limited.424')
  expectGolden(await update(troubles.html()), 'external-unavailable.502')
  fish.trouble = troubles.response(403, { status: 'error', message: '已设置隐私或未同意用户协议' })
  expectGolden(await post('/v1/update-fish', request('update-fish')), 'external-rejected.424')

  locked(database)
  expectGolden(await post('/v1/charge', request('charge')), 'account-busy.409')
})

it('refusals of a platform that is slow, or that nobody has configured, have the documented form', async () => {
  const { lxns, external } = await withPlatforms()
  const patient = await startScore({ external: { ...external, read_timeout: '50ms' } })
  lxns.trouble = troubles.slowHead
  expectGolden(await patient.post('/v1/update-lx', request('update-lx')), 'external-timeout.504')
  const alone = await startScore()
  expectGolden(await alone.post('/v1/update-lx', request('update-lx')), 'capability-missing.410')
})

it('every documented body is among those that were sent or compared above', () => {
  const kept = readdirSync(new URL('../../score/examples/', import.meta.url))
  expect([...used].sort()).toEqual(kept.sort())
})
