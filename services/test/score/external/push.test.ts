import { describe, expect, it } from 'vitest'
import { bundledSongs, troubles } from '../../fakes/platform.ts'
import { catalogueOf, expectRefused, fileOf, record, song } from '../harness.ts'
import { startUpdates } from './running.ts'

type Stored = { musicId: number; level: number; achievement?: number } & Record<string, number>
const score = (musicId: number, level: number, more: object = {}) => ({
  musicId,
  level,
  achievement: 1_000_000,
  ...more,
})
const fixture = (...scores: Stored[]) => ({ users: { alice: { scores } } })

describe('a push', () => {
  it('a push sends every stored score and reads nothing', async () => {
    const { service, lxns, updateLxns } = await startUpdates()
    const stored = [
      score(205, 4),
      score(10205, 3, { achievement: 1_004_999, comboStatus: 2, syncStatus: 5 }),
      score(100101, 10, { deluxscoreMax: 1920 }),
    ]
    await service.importFixture(fixture(...stored))
    const { json } = await updateLxns({ mode: 'push' })
    expect(json.businessData).toMatchObject({
      mode: 'push',
      pull: null,
      push: { sent: 3, accepted: 3, skipped: 0, skippedRecords: [] },
    })
    expect(lxns.requests.map(({ method }) => method)).toEqual(['POST'])
    expect(JSON.parse(lxns.requests[0]?.body ?? '')).toEqual({
      scores: [
        { id: 205, type: 'standard', level_index: 4, achievements: 100, dx_score: 0 },
        { id: 205, type: 'dx', level_index: 3, achievements: 100.4999, fc: 'fcp', fs: 'sync', dx_score: 0 },
        { id: 100101, type: 'utage', level_index: 0, achievements: 100, dx_score: 1920 },
      ],
    })
  })

  it('to Diving-Fish writes over better records, as the platform does', async () => {
    const { post, fish, updateFish } = await startUpdates()
    const better = { achievements: 101, dxScore: 2934, fc: 'app', fs: 'fsdp' }
    fish.put({ song_id: 11466, title: '群青シグナル', type: 'DX', level_index: 3, ...better })
    await post('/v1/music/upsert', record({ achievement: 50, comboStatus: 'ap', syncStatus: 'fsd' }))
    expect((await updateFish({ mode: 'push' })).json.businessData.push).toMatchObject({ sent: 1, accepted: 1 })
    expect(fish.records.get('11466/3')).toMatchObject({ achievements: 50, dxScore: 2800, fc: 'ap', fs: 'fsd' })
  })

  it('a push of both pulls first, so the platform loses nothing', async () => {
    const { post, fish, updateFish, scores } = await startUpdates()
    const better = { achievements: 101, dxScore: 2934, fc: '', fs: 'fsdp' }
    fish.put({ song_id: 11466, title: '群青シグナル', type: 'DX', level_index: 3, ...better })
    await post('/v1/music/upsert', record({ achievement: 50, comboStatus: 'ap', syncStatus: 'fsd' }))
    const { pull, push } = (await updateFish({ mode: 'both' })).json.businessData
    expect([pull.updated, push.accepted]).toEqual([1, 1])
    const best = { achievements: 101, dxScore: 2934, fc: 'ap', fs: 'fsdp' }
    expect(fish.records.get('11466/3')).toMatchObject(best)
    expect((await scores())['11466/3']).toMatchObject({ achievement: 1010000, comboStatus: 3, syncStatus: 4 })
  })

  it('a push of both leaves alone what the platform has and the pull could not take over', async () => {
    const { post, lxns, updateLxns } = await startUpdates()
    const odd = { id: 1466, type: 'dx', level_index: 3, achievements: 100.9, dx_score: 2935 } as const
    lxns.put(odd)
    await post('/v1/music/upsert', record({ achievement: 50, comboStatus: 'ap', syncStatus: 'fsd' }))
    const { push } = (await updateLxns({ mode: 'both' })).json.businessData
    expect(push).toEqual({
      sent: 0,
      accepted: 0,
      skipped: 1,
      skippedRecords: [{ id: 1466, type: 'dx', level_index: 3, reason: 'dx_score_out_of_range' }],
    })
    expect(lxns.scores.get('1466/dx/3')).toEqual(odd)
    expect(lxns.requests.map(({ method }) => method)).toEqual(['GET'])
  })

  it('a push of nothing asks for nothing', async () => {
    const { fish, updateFish } = await startUpdates()
    expect((await updateFish({ mode: 'push' })).json.businessData.push).toEqual({
      sent: 0,
      accepted: 0,
      skipped: 0,
      skippedRecords: [],
    })
    expect(fish.requests).toEqual([])
  })

  it('a push goes in batches of the configured size, or in one request for 0', async () => {
    const batch = { lxns: 2, fish: 0 }
    const { service, lxns, fish, updateLxns, updateFish } = await startUpdates({ batch })
    await service.importFixture(fixture(...[0, 1, 2, 3, 4].map((level) => score(205, level))))
    expect((await updateLxns({ mode: 'push' })).json.businessData.push).toMatchObject({ sent: 5, accepted: 5 })
    expect(lxns.requests.map(({ body }) => JSON.parse(body).scores.length)).toEqual([2, 2, 1])
    expect((await updateFish({ mode: 'push' })).json.businessData.push).toMatchObject({ sent: 5, accepted: 5 })
    expect(fish.requests.map(({ body }) => JSON.parse(body).length)).toEqual([5])
  })

  it('a push leaves out charts that have left the catalogue', async () => {
    const before = await startUpdates({ catalogue: fileOf(catalogueOf([song(300), song(301)])) })
    await before.service.importFixture(fixture(score(300, 0), score(301, 0)))
    const { database } = before
    await before.close()
    const { lxns, updateLxns } = await startUpdates({ database, catalogue: fileOf(catalogueOf([song(300)])) })
    lxns.trouble = troubles.response(200, { success: true, code: 200 })
    expect((await updateLxns({ mode: 'push' })).json.businessData.push).toEqual({
      sent: 1,
      accepted: 1,
      skipped: 1,
      skippedRecords: [{ id: 301, type: 'standard', level_index: 0, reason: 'music_not_found' }],
    })
  })
})

it('Diving-Fish leaves unknown titles out without a word, and the number tells', async () => {
  const songs = bundledSongs().filter(({ title }) => title !== 'Altale')
  const { service, updateFish, fish } = await startUpdates({ fishOptions: { songs } })
  await service.importFixture(fixture(score(837, 1), score(11466, 3), score(11466, 2)))
  fish.put({ song_id: 11466, title: '', type: 'DX', level_index: 2, achievements: 1, dxScore: 0, fc: '', fs: '' })
  expect((await updateFish({ mode: 'push' })).json.businessData.push).toEqual({
    sent: 3,
    accepted: 2,
    skipped: 1,
    skippedRecords: [],
  })
})

it('Diving-Fish is not sent a song whose title and type are those of another, since it could not tell them apart', async () => {
  const { service, updateFish, fish } = await startUpdates()
  await service.importFixture(fixture(score(417, 3), score(418, 3), score(205, 3), score(10205, 3)))
  const { push } = (await updateFish({ mode: 'push' })).json.businessData
  expect(push).toEqual({
    sent: 2,
    accepted: 2,
    skipped: 2,
    skippedRecords: [
      { id: 417, type: 'SD', level_index: 3, reason: 'ambiguous_title' },
      { id: 418, type: 'SD', level_index: 3, reason: 'ambiguous_title' },
    ],
  })
  expect([...fish.records.keys()]).toEqual(['205/3', '10205/3'])
})

it('LXNS, of which one bad record rejects the whole batch, is sent the others again without it', async () => {
  const songs = bundledSongs().filter(({ musicId }) => musicId !== 837 && musicId !== 312)
  const { service, lxns, updateLxns } = await startUpdates({ lxnsOptions: { songs } })
  await service.importFixture(fixture(score(312, 0), score(837, 1), score(205, 0), score(11466, 3)))
  expect((await updateLxns({ mode: 'push' })).json.businessData.push).toEqual({
    sent: 4,
    accepted: 2,
    skipped: 2,
    skippedRecords: [
      { id: 312, type: 'standard', level_index: 0, reason: 'rejected' },
      { id: 837, type: 'standard', level_index: 1, reason: 'rejected' },
    ],
  })
  expect([...lxns.scores.keys()]).toEqual(['205/standard/0', '1466/dx/3'])
  expect(lxns.requests.length).toBe(3)
})

it("LXNS, of which one bad record rejects the whole batch, is sent a DX song once more under the game's own id, before it is left out", async () => {
  const songs = bundledSongs().filter(({ musicId }) => musicId !== 11502)
  const { service, lxns, updateLxns } = await startUpdates({ lxnsOptions: { songs, rawOnly: [11466] } })
  await service.importFixture(fixture(score(11466, 3), score(11502, 0)))
  expect((await updateLxns({ mode: 'push' })).json.businessData.push).toEqual({
    sent: 2,
    accepted: 1,
    skipped: 1,
    skippedRecords: [{ id: 1502, type: 'dx', level_index: 0, reason: 'rejected' }],
  })
  expect([...lxns.scores.keys()]).toEqual(['11466/dx/3'])
  const ids = lxns.requests.map(({ body }) => JSON.parse(body).scores.map(({ id }: { id: number }) => id))
  expect(ids).toEqual([[1466, 1502], [11466, 1502], [11466, 11502], [11466]])
})

it('LXNS, of which one bad record rejects the whole batch, is asked no more when every record of the batch was rejected', async () => {
  const { service, lxns, updateLxns } = await startUpdates({ lxnsOptions: { songs: [] } })
  await service.importFixture(fixture(score(837, 1)))
  expect((await updateLxns({ mode: 'push' })).json.businessData.push).toMatchObject({
    sent: 1,
    accepted: 0,
    skipped: 1,
  })
  expect(lxns.requests.length).toBe(1)
})

it('LXNS, of which one bad record rejects the whole batch, is given up after many rejections, and the response says how far it came', async () => {
  const songs = Array.from({ length: 30 }, (_, i) => song(20 + i))
  const { service, lxns, updateLxns } = await startUpdates({
    catalogue: fileOf(catalogueOf(songs)),
    batch: { lxns: 145 },
    lxnsOptions: { songs: [{ musicId: 49, title: '', levels: [0, 1, 2, 3, 4] }] },
  })
  const all = songs.flatMap(({ musicId }) => [0, 1, 2, 3, 4].map((level) => score(musicId, level)))
  await service.importFixture(fixture(...all))
  const response = await updateLxns({ mode: 'push' })
  expectRefused(response, 424, 'external_rejected')
  expect(response.json.details.message).toMatch(/^invalid score \(id: 40, type: standard, level_index: 0\)/)
  expect(lxns.requests.length).toBe(101)
})

it.each([403, 404])(
  'LXNS, of which one bad record rejects the whole batch, that names a record with %i means more than the record, and is asked no more',
  async (status) => {
    const { service, lxns, updateLxns } = await startUpdates()
    await service.importFixture(fixture(score(837, 1), score(205, 0)))
    const message = 'invalid score (id: 837, type: standard, level_index: 1): song not found'
    lxns.trouble = [troubles.response(status, { success: false, code: status, message })]
    expectRefused(await updateLxns({ mode: 'push' }), 424, 'external_rejected')
    expect(lxns.requests.length).toBe(1)
  },
)

it('LXNS, of which one bad record rejects the whole batch, that names a record which was not sent is believed to have rejected the request', async () => {
  const { service, lxns, updateLxns } = await startUpdates()
  await service.importFixture(fixture(score(837, 1)))
  const message = 'invalid score (id: 83, type: standard, level_index: 1): song not found'
  lxns.trouble = troubles.response(400, { success: false, code: 400, message })
  expect(await updateLxns({ mode: 'push' })).toMatchObject({
    status: 424,
    json: { error: 'external_rejected', details: { platform: 'lxns', status: 400, message } },
  })
  expect(lxns.requests.length).toBe(1)
})

it('a push that breaks off is never repeated', async () => {
  const { service, lxns, updateLxns } = await startUpdates()
  await service.importFixture(fixture(score(837, 1)))
  lxns.trouble = [troubles.reset]
  expectRefused(await updateLxns({ mode: 'push' }), 502, 'external_unavailable')
  expect(lxns.requests.length).toBe(1)
})

it('a push that breaks off says how much had been accepted, and that what was pulled is kept', async () => {
  const { service, lxns, updateLxns, scores } = await startUpdates({ batch: { lxns: 1 } })
  await service.importFixture(fixture(score(837, 1), score(205, 0)))
  lxns.put({ id: 1466, type: 'dx', level_index: 3, achievements: 100, dx_score: 0 })
  lxns.trouble = [null, null, troubles.html(503)]
  const { status, json } = await updateLxns({ mode: 'both' })
  expect([status, json.error, json.msg]).toEqual([
    502,
    'external_unavailable',
    'LXNS gives no usable answer; try again later; 1 of 3 records had been accepted; what was pulled before is kept',
  ])
  expect(Object.keys(await scores())).toContain('11466/3')
})
