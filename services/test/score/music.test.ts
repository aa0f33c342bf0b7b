import fc from 'fast-check'
import { expect, it } from 'vitest'
import { record, startScore } from './harness.ts'

const UPSERT = '/v1/music/upsert'
const DELETE = '/v1/music/delete'

type Score = Awaited<ReturnType<typeof startScore>>

async function stored({ post }: Score, user = 'alice') {
  const { json } = await post('/v1/user/music', {}, { user })
  return json.businessData.userMusicList.flatMap(
    (group: { userMusicDetailList: object[] }) => group.userMusicDetailList,
  )
}

it('upsert takes a bare object as a list of one, and the other names of fields', async () => {
  const score = await startScore()
  for (const body of [
    record(),
    { music_id: 11466, level: 3, acc: '100.5%', dxScore: 2800 },
    { id: 11466, level: 3, acc: '1005000', dxScore: 2800 },
    { id: 11466, musicId: 11466, level: 3, achievement: 1005000, dxScore: 2800 },
  ]) {
    expect((await score.post(UPSERT, body)).status).toBe(200)
  }
  expect(await stored(score)).toMatchObject([{ musicId: 11466, achievement: 1005000, playCount: 1 }])
})

it('upsert refuses two names of one field that differ', async () => {
  const { post } = await startScore()
  expect((await post(UPSERT, record({ id: 837 }))).json).toMatchObject({ error: 'invalid_request', returnCode: 1205 })
  expect((await post(UPSERT, record({ acc: 99 }))).json).toMatchObject({
    details: [{ index: 0, field: 'achievement' }],
  })
})

it('upsert overwrites a better score, keeps its play count and forgets lamps that are not sent', async () => {
  const score = await startScore()
  await score.service.importFixture({
    users: { alice: { scores: [{ musicId: 11466, level: 3, playCount: 7, achievement: 1010000, comboStatus: 4 }] } },
  })
  const { json } = await score.post(UPSERT, record({ achievement: 80, dxScore: 0 }))
  expect(json.businessData).toMatchObject({ created: 0, updated: 1, unchanged: 0 })
  expect(await stored(score)).toEqual([
    {
      musicId: 11466,
      level: 3,
      playCount: 7,
      achievement: 800000,
      comboStatus: 0,
      syncStatus: 0,
      deluxscoreMax: 0,
      scoreRank: 5,
      extNum1: 0,
    },
  ])
})

it('upsert mixes exact and fuzzy records and answers in the order of the request', async () => {
  const { post } = await startScore()
  const { json } = await post(UPSERT, {
    musicList: [
      record({ level: 2, dxScore: 5, fuzzy: true }),
      record({ level: 1, dxScore: 5 }),
      record({ level: 0, dxScore: 0, fuzzy: true }),
    ],
  })
  const scores = json.businessData.userMusicDetailList.map((s: { deluxscoreMax: number }) => s.deluxscoreMax)
  expect(scores).toEqual([1898, 5, 0])
})

it('upsert accepts every lamp by name and by number', async () => {
  const { post } = await startScore()
  const numberOf = async (lamp: object) => {
    const { json } = await post(UPSERT, record(lamp))
    const { comboStatus, syncStatus } = json.businessData.userMusicDetailList[0]
    return [comboStatus, syncStatus]
  }
  const combos = ['none', 'fc', 'fcp', 'ap', 'app']
  for (const [number, name] of combos.entries()) {
    expect(await numberOf({ comboStatus: name })).toEqual([number, 0])
    expect(await numberOf({ comboStatus: number })).toEqual([number, 0])
  }
  const syncs = { none: 0, fs: 1, fsp: 2, fsd: 3, fdx: 3, fsdp: 4, fdxp: 4, sync: 5 }
  for (const [name, number] of Object.entries(syncs)) {
    expect(await numberOf({ syncStatus: name })).toEqual([0, number])
    expect(await numberOf({ syncStatus: number })).toEqual([0, number])
  }
})

it('upsert keeps the digits of a number that a double cannot hold', async () => {
  const { post } = await startScore()
  const { json } = await post(UPSERT, '{"musicId":11466,"level":3,"achievement":99.99994999999999999999,"dxScore":0}')
  expect(json.businessData.userMusicDetailList[0].achievement).toBe(999999)
})

it('upsert allows up to 202 % on a buddy utage chart and 101 % on another', async () => {
  const { post } = await startScore()
  const buddy = { musicId: 110205, level: 10, achievement: 202, dxScore: 4500 }
  expect((await post(UPSERT, buddy)).json.businessData.userMusicDetailList[0].achievement).toBe(2_020_000)
  expect((await post(UPSERT, { ...buddy, achievement: 202.1 })).status).toBe(400)
  expect((await post(UPSERT, { ...buddy, musicId: 100101, dxScore: 0 })).status).toBe(400)
  expect((await post(UPSERT, { ...buddy, musicId: 100101, dxScore: 0, achievement: 101 })).status).toBe(200)
})

it.each([
  ['an empty list', { musicList: [] }],
  ['a list that is too long', { musicList: Array.from({ length: 21 }, () => record()) }],
  ['a list that is no list', { musicList: record() }],
  ['a list of lists', { musicList: [[record()]] }],
  ['an array', [record()]],
  ['a number', 7],
  ['null', null],
  ['an unknown field beside the list', { musicList: [record()], extra: 1 }],
  ['an unknown field in a record', { musicList: [record({ playCount: 9 })] }],
  ['record fields beside the list', { musicList: [record()], ...record() }],
  ['a star above 5', record({ fuzzy: true, dxScore: 6 })],
  ['a negative star', record({ fuzzy: true, dxScore: -1 })],
  ['a star that is not whole', record({ fuzzy: true, dxScore: 2.5 })],
  ['a DX score that is not whole', record({ dxScore: 2800.5 })],
  ['a DX score in a string', record({ dxScore: '2800' })],
  ['no DX score', record({ dxScore: undefined })],
  ['no achievement', record({ achievement: undefined })],
  ['an achievement between percent and internal', record({ achievement: 5000 })],
  ['an achievement that is no number', record({ achievement: true })],
  ['no musicId', record({ musicId: undefined })],
  ['a musicId in a string', record({ musicId: '11466' })],
  ['an unknown level', record({ level: 5 })],
  ['an unknown lamp', record({ comboStatus: 'FC' })],
  ['a lamp of the other kind', record({ comboStatus: 'sync' })],
  ['a lamp number out of range', record({ syncStatus: 6 })],
  ['fuzzy that is no boolean', record({ fuzzy: 1 })],
  ['a chart twice', { musicList: [record(), record({ achievement: 99 })] }],
])('upsert refuses %s with 400 and stores nothing', async (_what, body) => {
  const score = await startScore()
  const { status, json } = await score.post(UPSERT, body)
  expect(status).toBe(400)
  expect(json).toMatchObject({ error: 'invalid_request', msg: expect.any(String), returnCode: 1205, code: 1205 })
  expect(json.details.length).toBeGreaterThan(0)
  expect(await stored(score)).toEqual([])
})

it.each([-1, 2935, 1e300])('upsert refuses the DX score %d of an exact record with 422', async (dxScore) => {
  const { post } = await startScore()
  expect(await post(UPSERT, record({ dxScore }))).toMatchObject({
    status: 422,
    json: { error: 'dx_score_out_of_range', returnCode: 5009, details: [{ index: 0, max: 2934 }] },
  })
  expect((await post(UPSERT, record({ dxScore: 2934 }))).status).toBe(200)
})

it.each([
  [999, 3],
  [11466, 4],
  [11466, 10],
  [1466, 3],
  [100101, 0],
])('upsert does not know musicId %i level %i', async (musicId, level) => {
  const { post } = await startScore()
  expect(await post(UPSERT, record({ musicId, level, dxScore: 0 }))).toMatchObject({
    status: 404,
    json: { error: 'music_not_found', returnCode: 5004, code: 5004, details: [{ index: 0, musicId, level }] },
  })
})

it('upsert names every bad record and stores none of the good ones', async () => {
  const score = await startScore()
  const { status, json } = await score.post(UPSERT, {
    musicList: [
      record(),
      record({ level: 0, dxScore: 709 }),
      record({ musicId: 999 }),
      record({ level: 1, achievement: 'x', dxScore: 1330 }),
      record({ level: 2, surprise: 1 }),
    ],
  })
  expect([status, json.error]).toEqual([400, 'invalid_request'])
  expect(json.details.map((d: { index: number; field: string }) => [d.index, d.field])).toEqual([
    [1, 'dxScore'],
    [2, 'musicId'],
    [3, 'achievement'],
    [3, 'dxScore'],
    [4, 'surprise'],
  ])
  expect(await stored(score)).toEqual([])
})

it('upsert follows the configured limit of the list', async () => {
  const { post } = await startScore({ listLimit: 2 })
  const list = [0, 1, 2].map((level) => record({ level, dxScore: 0 }))
  expect((await post(UPSERT, { musicList: list })).status).toBe(400)
  expect((await post(UPSERT, { musicList: list.slice(0, 2) })).status).toBe(200)
})

it('upsert ignores what clients of the real service send besides, and never reports it', async () => {
  const score = await startScore()
  const besides = { type: 'sync', qr_text: 'SGWCMAID1', qrcode: { a: ['SGWCMAID2'] }, keychip: 'A63E' }
  const responses = [
    await score.post(UPSERT, { musicList: [record()], ...besides }),
    await score.post(UPSERT, { ...record(), ...besides }),
    await score.post('/v1/user/music', besides),
    await score.post(UPSERT, { musicList: [], ...besides }),
  ]
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 400])
  expect(responses.map(({ text }) => text).join()).not.toContain('SGWCMAID')
  expect(JSON.stringify([score.records, score.errors])).not.toContain('SGWCMAID')
})

it('upsert changes nothing if it is repeated', async () => {
  const score = await startScore()
  const maxima = [708, 1329, 1956, 2934]
  const scoreOf = fc.record({
    achievement: fc.integer({ min: 10_000, max: 1_010_000 }),
    comboStatus: fc.integer({ min: 0, max: 4 }),
    syncStatus: fc.integer({ min: 0, max: 5 }),
    fuzzy: fc.boolean(),
    part: fc.integer({ min: 0, max: 5 }),
  })
  const lists = fc.dictionary(fc.constantFrom('0', '1', '2', '3'), scoreOf, { minKeys: 1 })
  await fc.assert(
    fc.asyncProperty(lists, async (byLevel) => {
      const musicList = Object.entries(byLevel).map(([level, { part, ...sent }]) => {
        const dxScore = sent.fuzzy ? part : Math.floor(((maxima[Number(level)] ?? 0) * part) / 5)
        return { musicId: 11466, level: Number(level), dxScore, ...sent }
      })
      const first = await score.post(UPSERT, { musicList })
      const before = await stored(score)
      const second = await score.post(UPSERT, { musicList })
      const { businessData: again } = second.json
      expect(again).toMatchObject({ created: 0, updated: 0, unchanged: musicList.length })
      expect(again.userMusicDetailList).toEqual(first.json.businessData.userMusicDetailList)
      expect(await stored(score)).toEqual(before)
    }),
    { numRuns: 30 },
  )
})

it('deletes all of a list or nothing', async () => {
  const score = await startScore()
  await score.post(UPSERT, { musicList: [record(), record({ level: 2, dxScore: 0 })] })
  const missing = { musicId: 837, level: 1 }
  const refused = await score.post(DELETE, { musicList: [{ musicId: 11466, level: 3 }, missing] })
  expect(refused).toMatchObject({
    status: 404,
    json: { error: 'score_not_found', returnCode: 5005, code: 5005, details: [{ index: 1, ...missing }] },
  })
  expect(await stored(score)).toHaveLength(2)

  const done = await score.post(DELETE, { musicList: [3, 2].map((level) => ({ musicId: 11466, level })) })
  expect(done.json.businessData.deleted).toBe(2)
  expect(await stored(score)).toEqual([])
})

it('delete takes a bare object, and a score that comes back starts at one play', async () => {
  const score = await startScore()
  await score.service.importFixture({
    users: { alice: { scores: [{ musicId: 11466, level: 3, playCount: 7, achievement: 1 }] } },
  })
  expect((await score.post(DELETE, { musicId: 11466, level: 3 })).status).toBe(200)
  await score.post(UPSERT, record())
  expect(await stored(score)).toMatchObject([{ playCount: 1 }])
})

it('delete knows a chart that does not exist from a score that does not', async () => {
  const { post } = await startScore()
  expect((await post(DELETE, { musicId: 999, level: 0 })).json.error).toBe('music_not_found')
  expect((await post(DELETE, { musicId: 837, level: 0 })).json.error).toBe('score_not_found')
})

it.each([
  ['anything but the key', { musicId: 11466, level: 3, achievement: 1 }],
  ['no level', { musicId: 11466 }],
  ['an empty list', { musicList: [] }],
  ['a key twice', { musicList: [1, 2].map(() => ({ musicId: 11466, level: 3 })) }],
])('delete refuses %s', async (_what, body) => {
  const score = await startScore()
  await score.post(UPSERT, record())
  expect((await score.post(DELETE, body)).status).toBe(400)
  expect(await stored(score)).toHaveLength(1)
})

it.each([{}, { confirm: false }, { confirm: 'true' }, { confirm: 1 }])(
  'clear needs a confirmation, not %j',
  async (body) => {
    const score = await startScore()
    await score.post(UPSERT, record())
    expect((await score.post('/v1/music/clear', body)).status).toBe(400)
    expect(await stored(score)).toHaveLength(1)
  },
)

it('the rating follows the scores, and the highest one stays', async () => {
  const score = await startScore()
  const ratings = async () => {
    const { userData } = (await score.post('/v1/user/data')).json.businessData
    return [userData.playerRating, userData.playerOldRating, userData.playerNewRating, userData.highestRating]
  }
  expect(await ratings()).toEqual([0, 0, 0, 0])
  await score.post(UPSERT, record())
  await score.post(UPSERT, { musicId: 837, level: 1, achievement: 101, dxScore: 744 })
  expect(await ratings()).toEqual([503, 191, 312, 503])
  await score.post(UPSERT, record({ achievement: 100 }))
  expect(await ratings()).toEqual([491, 191, 300, 503])
  await score.post(DELETE, { musicId: 11466, level: 3 })
  expect(await ratings()).toEqual([191, 191, 0, 503])
  await score.post('/v1/music/clear', { confirm: true })
  expect(await ratings()).toEqual([0, 0, 0, 503])
})

const NAMES = [
  'alice',
  'Alice',
  'ａｌｉｃｅ',
  '雪のユーザー',
  'e\u0301',
  '\u00e9',
  'a\u0000b',
  'a',
  '50%',
  "x'; --",
  '😀',
]

it('players are one for each user id, whatever its letters', async () => {
  const score = await startScore()
  for (const [i, user] of NAMES.entries()) {
    expect((await score.post(UPSERT, record({ dxScore: i }), { user })).status, user).toBe(200)
  }
  const found = await Promise.all(NAMES.map((user) => stored(score, user)))
  expect(found.map(([only]) => only.deluxscoreMax)).toEqual(NAMES.map((_, i) => i))
  const ids = await Promise.all(
    NAMES.map(async (user) => (await score.post('/v1/user/music', {}, { user })).json.businessData.userId),
  )
  expect(new Set(ids).size).toBe(NAMES.length)
})

it('players start empty and keep the userId of their first request', async () => {
  const { post } = await startScore()
  const first = (await post('/v1/user/data', {}, { user: 'new' })).json.businessData
  await post('/v1/user/data', {}, { user: 'other' })
  expect(first).toMatchObject({ userId: 10000001, banState: 0, userData: { userName: '', playerRating: 0 } })
  expect((await post('/v1/user/data', {}, { user: 'new' })).json.businessData).toEqual(first)
})

it('players keep everything over a restart', async () => {
  const first = await startScore()
  await first.post(UPSERT, record())
  await first.post('/v1/charge', { chargeId: 5 }, { headers: { 'idempotency-key': 'k' } })
  const responses = async ({ post }: Score) =>
    Promise.all(['music', 'data', 'charge'].map(async (what) => (await post(`/v1/user/${what}`)).text))
  const before = await responses(first)
  await first.close()

  const second = await startScore({ database: first.database })
  expect(await responses(second)).toEqual(before)
  await second.post('/v1/charge', { chargeId: 5 }, { headers: { 'idempotency-key': 'k' } })
  expect(await responses(second)).toEqual(before)
})
