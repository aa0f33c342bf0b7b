import { expect, it, vi } from 'vitest'
import { troubles } from '../../fakes/platform.ts'
import { record } from '../harness.ts'
import { startUpdates } from './running.ts'

const SIGNAL = {
  id: 1466,
  type: 'dx',
  level_index: 3,
  achievements: 100.5,
  fc: 'ap',
  fs: 'fsd',
  dx_score: 2800,
} as const

it('a pull is what an update does without a mode, and sends nothing to the platform', async () => {
  const { lxns, updateLxns, scores } = await startUpdates()
  lxns.put(SIGNAL)
  const { json } = await updateLxns()
  expect(json.businessData).toMatchObject({
    platform: 'lxns',
    mode: 'pull',
    pull: { fetched: 1, created: 1 },
    push: null,
  })
  expect(lxns.requests.map(({ method }) => method)).toEqual(['GET'])
  expect(await scores()).toEqual({
    '11466/3': {
      musicId: 11466,
      level: 3,
      playCount: 1,
      achievement: 1005000,
      comboStatus: 3,
      syncStatus: 3,
      deluxscoreMax: 2800,
      scoreRank: 13,
      extNum1: 0,
    },
  })
})

it('a pull finds each kind of chart under the name that the platform gives it', async () => {
  const { lxns, fish, updateLxns, updateFish, scores } = await startUpdates()
  for (const [id, type, level_index] of [
    [205, 'standard', 4],
    [205, 'dx', 3],
    [100101, 'utage', 0],
  ] as const) {
    lxns.put({ id, type, level_index, achievements: 90, dx_score: 1 })
  }
  await updateLxns()
  expect(Object.keys(await scores())).toEqual(['205/4', '10205/3', '100101/10'])

  const more = { title: '', achievements: 95, dxScore: 2, fc: '', fs: '' }
  fish.put({ song_id: 205, type: 'SD', level_index: 4, ...more })
  fish.put({ song_id: 205, type: 'DX', level_index: 3, ...more })
  fish.put({ song_id: 100101, type: 'DX', level_index: 0, ...more })
  const { json } = await updateFish({}, { user: 'bob' })
  expect(json.businessData.pull).toMatchObject({ fetched: 3, created: 3 })
  expect(Object.keys(await scores('bob'))).toEqual(['205/4', '10205/3', '100101/10'])
})

it('a pull keeps the better of each field, whichever side has it, and the play count', async () => {
  const { service, lxns, updateLxns, scores } = await startUpdates()
  const stored = { playCount: 7, achievement: 999_999, comboStatus: 4, syncStatus: 5, deluxscoreMax: 2000 }
  await service.importFixture({ users: { alice: { scores: [{ musicId: 11466, level: 3, ...stored }] } } })
  lxns.put({ ...SIGNAL, achievements: 100.5, fc: 'fc', fs: 'fs', dx_score: 1999 })
  expect((await updateLxns()).json.businessData.pull).toMatchObject({ created: 0, updated: 1, unchanged: 0 })
  const best = { playCount: 7, achievement: 1005000, comboStatus: 4, syncStatus: 1, deluxscoreMax: 2000 }
  expect((await scores())['11466/3']).toMatchObject(best)

  lxns.put({ ...SIGNAL, achievements: 50, fc: null, fs: 'sync', dx_score: 0 })
  expect((await updateLxns()).json.businessData.pull).toMatchObject({ created: 0, updated: 0, unchanged: 1 })
  expect((await scores())['11466/3']).toMatchObject(best)
})

it('a pull brings the rating up to date', async () => {
  const { post, lxns, updateLxns } = await startUpdates()
  lxns.put(SIGNAL)
  await updateLxns()
  expect((await post('/v1/user/data')).json.businessData.userData).toMatchObject({
    playerRating: 312,
    playerNewRating: 312,
    playerOldRating: 0,
    highestRating: 312,
  })
})

it.each([
  ['100.5', 1005000],
  ['100.49995', 1005000],
  ['100.49994999999999999', 1004999],
  ['99.99995', 1000000],
  ['79.9999', 799999],
  ['1e2', 1000000],
  ['0', 0],
])('a pull reads the percentage %s exactly', async (written, achievement) => {
  const { lxns, updateLxns, scores } = await startUpdates()
  lxns.trouble = (_request, response) =>
    response.end(
      `{"success": true, "code": 200, "data": [{"id": 1466, "type": "dx", "level_index": 3, "achievements": ${written}}]}`,
    )
  await updateLxns()
  expect((await scores())['11466/3']).toMatchObject({ achievement, deluxscoreMax: 0, comboStatus: 0, syncStatus: 0 })
})

it('a pull leaves out what it cannot take over, says why, and takes the rest', async () => {
  const { lxns, updateLxns, scores } = await startUpdates()
  const data = [
    SIGNAL,
    { ...SIGNAL, id: 1484 },
    { ...SIGNAL, level_index: 4 },
    { ...SIGNAL, level_index: 2, dx_score: 1957 },
    { ...SIGNAL, level_index: 1, achievements: 101.00001 },
    { ...SIGNAL, level_index: 1, achievements: 10000 },
    { ...SIGNAL, level_index: 1, achievements: -1 },
    { ...SIGNAL, level_index: 1, dx_score: -1 },
    { ...SIGNAL, level_index: '1' },
    { ...SIGNAL, type: 'SD' },
    { ...SIGNAL, id: 1.5 },
    { ...SIGNAL, achievements: null },
    'nonsense',
    null,
    [],
    { id: { a: 1 }, type: 'x'.repeat(1000), level_index: 'y' },
  ]
  lxns.trouble = troubles.response(200, { success: true, code: 200, data })
  const { pull } = (await updateLxns()).json.businessData
  expect(pull).toEqual({
    fetched: 16,
    created: 1,
    updated: 0,
    unchanged: 0,
    skipped: 15,
    skippedRecords: [
      { id: 1484, type: 'dx', level_index: 3, reason: 'music_not_found' },
      { id: 1466, type: 'dx', level_index: 4, reason: 'music_not_found' },
      { id: 1466, type: 'dx', level_index: 2, reason: 'dx_score_out_of_range' },
      { id: 1466, type: 'dx', level_index: 1, reason: 'achievement_out_of_range' },
      { id: 1466, type: 'dx', level_index: 1, reason: 'dx_score_out_of_range' },
      { id: 1466, type: 'dx', level_index: null, reason: 'invalid_record' },
      { id: 1466, type: 'SD', level_index: 3, reason: 'invalid_record' },
      { id: null, type: 'dx', level_index: 3, reason: 'invalid_record' },
      { id: 1466, type: 'dx', level_index: 3, reason: 'invalid_record' },
      { id: null, type: null, level_index: null, reason: 'invalid_record' },
      { id: null, type: null, level_index: null, reason: 'invalid_record' },
    ].slice(0, 10),
  })
  expect(Object.keys(await scores())).toEqual(['11466/3'])
})

it('a pull names the first 20 of what it leaves out, and counts all', async () => {
  const { fish, updateFish } = await startUpdates()
  const records = Array.from({ length: 50 }, (_, i) => ({
    song_id: 5000 + i,
    type: 'SD',
    level_index: 0,
    achievements: 1,
  }))
  fish.trouble = troubles.response(200, { username: 'x', records })
  const { pull } = (await updateFish()).json.businessData
  expect([pull.fetched, pull.skipped, pull.skippedRecords.length]).toEqual([50, 50, 20])
  expect(pull.skippedRecords[19]).toEqual({ id: 5019, type: 'SD', level_index: 0, reason: 'music_not_found' })
})

it('a pull takes a lamp that it does not know for none, and the aliases for what they mean', async () => {
  const { fish, updateFish, scores } = await startUpdates()
  const known = { song_id: 11466, type: 'DX', achievements: 90, dxScore: 0 }
  const records = [
    { ...known, level_index: 0, fc: 'fdx', fs: 'ap' },
    { ...known, level_index: 1, fc: 'app', fs: 'fdxp' },
    { ...known, level_index: 2, fc: '', fs: 'sync' },
    { ...known, level_index: 3, fc: 3, fs: null },
  ]
  fish.trouble = troubles.response(200, { records })
  await updateFish()
  const lamps = Object.values(await scores()).map(({ comboStatus, syncStatus }) => [comboStatus, syncStatus])
  expect(lamps).toEqual([
    [0, 0],
    [4, 4],
    [0, 5],
    [0, 0],
  ])
})

it('a pull of a user without scores is empty, also if the platform sends no list', async () => {
  const { lxns, updateLxns } = await startUpdates()
  const none = { fetched: 0, created: 0, updated: 0, unchanged: 0, skipped: 0, skippedRecords: [] }
  expect((await updateLxns()).json.businessData.pull).toEqual(none)
  lxns.trouble = troubles.response(200, { success: true, code: 200, data: null })
  expect((await updateLxns()).json.businessData.pull).toEqual(none)
})

it('a pull says who asks', async () => {
  const { lxns, updateLxns } = await startUpdates()
  await updateLxns()
  expect(lxns.requests[0]?.headers).toMatchObject({
    'user-agent': expect.stringMatching(/^score-gateway\/\d+\.\d+\.\d+$/),
    accept: 'application/json',
  })
  expect(lxns.requests[0]?.headers).not.toHaveProperty('x-tollgate-user')
  expect(lxns.requests[0]?.headers).not.toHaveProperty('x-backend-secret')
})

it('updates of one user at the same time lose nothing, and store of each field the best of all', async () => {
  const { lxns, fish, updateLxns, updateFish, post, scores } = await startUpdates()
  lxns.put({ ...SIGNAL, achievements: 100.5, fc: null, fs: null, dx_score: 0 })
  fish.put({
    song_id: 11466,
    title: '',
    type: 'DX',
    level_index: 3,
    achievements: 0,
    dxScore: 2934,
    fc: 'app',
    fs: '',
  })
  // The platforms answer when all six have asked and a score has been written meanwhile.
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  let waiting = 0
  const meet = () => {
    waiting++
    if (waiting === 6) asked.resolve()
    return answer.promise
  }
  lxns.meanwhile = meet
  fish.meanwhile = meet
  const updates = [0, 1, 2].flatMap(() => [updateLxns(), updateFish()])
  await asked.promise
  await post('/v1/music/upsert', record({ achievement: 50, dxScore: 1, comboStatus: 'none', syncStatus: 'fsdp' }))
  answer.resolve()
  for (const { status } of await Promise.all(updates)) expect(status).toBe(200)
  expect((await scores())['11466/3']).toMatchObject({
    achievement: 1005000,
    deluxscoreMax: 2934,
    comboStatus: 4,
    syncStatus: 4,
    playCount: 1,
  })
})

it('updates of one user at the same time hold no transaction while they wait for the platform', async () => {
  const { lxns, updateLxns, post } = await startUpdates({ busyTimeout: 50 })
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  lxns.meanwhile = () => {
    asked.resolve()
    return answer.promise
  }
  const update = updateLxns()
  await asked.promise
  expect((await post('/v1/music/upsert', record())).status).toBe(200)
  answer.resolve()
  expect((await update).status).toBe(200)
})

it('leave no timer behind, which would keep a service that ends from ending', async () => {
  const { updateLxns, updateFish } = await startUpdates({ limits: { total_timeout: '9m' } })
  const [set, clear] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
  for (const update of [updateLxns, updateFish]) expect((await update()).status).toBe(200)
  const timers = set.mock.results.filter((_, i) => set.mock.calls[i]?.[1] === 9 * 60_000).map(({ value }) => value)
  expect(timers.length).toBe(2)
  for (const timer of timers) expect(clear).toHaveBeenCalledWith(timer)
  vi.restoreAllMocks()
})
