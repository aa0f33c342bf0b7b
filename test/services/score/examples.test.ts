import { describe, expect, it } from 'vitest'
import { DAY, NOON, record, startScore, wire } from './harness.ts'

/** The documented examples, byte for byte: members, their order and their values. */

const IMPORTED = {
  users: {
    alice: {
      profile: {
        userName: 'ＴＥＳＴ',
        iconId: 200201,
        plateId: 200201,
        titleId: 300022,
        partnerId: 17,
        frameId: 300101,
        courseRank: 11,
        classRank: 7,
        totalAwake: 82,
        charaSlot: [101, 102, 103, 104, 105],
        playCount: 510,
        currentPlayCount: 120,
        point: 5000,
        mapStock: 0,
        isNetMember: 1,
        banState: 0,
        lastRomVersion: '1.41.00',
        lastDataVersion: '1.40.08',
        lastRegionId: 1,
        lastRegionName: 'Beijing',
        firstPlayDate: '2024-03-27T05:45:15.000Z',
        lastLoginDate: '2026-08-06T13:00:00.000Z',
        lastPlayDate: '2026-08-06T13:20:00.000Z',
      },
      ratings: { playerRating: 14509, highestRating: 14509, playerOldRating: 10140, playerNewRating: 4369 },
      scores: [
        { musicId: 11466, level: 3, achievement: 1005000, comboStatus: 3, syncStatus: 3, deluxscoreMax: 2800 },
        { musicId: 11466, level: 2, playCount: 2, achievement: 995000, comboStatus: 1, deluxscoreMax: 1800 },
        {
          musicId: 837,
          level: 1,
          playCount: 4,
          achievement: 1010000,
          comboStatus: 4,
          syncStatus: 3,
          deluxscoreMax: 744,
        },
      ],
      items: [
        { itemKind: 3, itemId: 11, stock: 1, isValid: true },
        { itemKind: 1, itemId: 5, stock: 1, isValid: true },
        { itemKind: 3, itemId: 1, stock: 1, isValid: true },
      ],
      gates: [
        { gateId: 2, isGateFound: true, isKeyFound: false, isClear: false },
        {
          gateId: 1,
          isGateFound: true,
          isKeyFound: true,
          isClear: true,
          totalRestLife: 12,
          totalAchievement: 3003000,
          totalDeluxscore: 7000,
          bestAchievement: 3003000,
          bestDeluxscore: 7000,
          bestAchievementDate: '2026-07-01T10:00:00.000Z',
          bestDeluxscoreDate: '2026-07-01T18:00:00+08:00',
          playCount: 2,
          clearDate: '2026-07-01T10:00:00.000Z',
          lastPlayDate: '2026-07-03T10:00:00.000Z',
          isInfoWatched: true,
        },
      ],
      regions: [{ regionId: 1, playCount: 40, created: '2024-03-27T05:45:15.000Z' }],
      freeTickets: [{ chargeId: 11001, stock: 1 }],
    },
  },
}

async function imported() {
  const score = await startScore()
  await score.service.importFixture(IMPORTED)
  return score
}

describe('POST /v1/music/upsert', () => {
  const EXACT = `{
    "musicList": [
      {"musicId": 11466, "level": 3, "achievement": 100.5, "dxScore": 2800,
       "comboStatus": "ap", "syncStatus": "fsd", "fuzzy": false}
    ]
  }`
  const FUZZY = `{
    "musicList": [
      {"musicId": 11466, "level": 3, "achievement": 100.0, "dxScore": 3,
       "comboStatus": "fcp", "syncStatus": "fsp", "fuzzy": true}
    ]
  }`

  it('answers the exact example, and after it the fuzzy one', async () => {
    const { post } = await startScore()
    const exact = await post('/v1/music/upsert', EXACT)
    expect([exact.status, exact.text]).toEqual([
      200,
      wire(`{
        "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
        "businessData": {
          "created": 1, "updated": 0, "unchanged": 0,
          "userMusicDetailList": [
            {"musicId": 11466, "level": 3, "playCount": 1, "achievement": 1005000, "comboStatus": 3,
             "syncStatus": 3, "deluxscoreMax": 2800, "scoreRank": 13, "extNum1": 0}
          ]
        }
      }`),
    ])
    const fuzzy = await post('/v1/music/upsert', FUZZY)
    expect([fuzzy.status, fuzzy.text]).toEqual([
      200,
      wire(`{
        "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
        "businessData": {
          "created": 0, "updated": 1, "unchanged": 0,
          "userMusicDetailList": [
            {"musicId": 11466, "level": 3, "playCount": 1, "achievement": 1000000, "comboStatus": 2,
             "syncStatus": 2, "deluxscoreMax": 2729, "scoreRank": 12, "extNum1": 0}
          ]
        }
      }`),
    ])
  })

  it('answers the example of a DX score out of range', async () => {
    const { post } = await startScore()
    const answer = await post('/v1/music/upsert', { musicList: [record({ dxScore: 3000 })] })
    expect([answer.status, answer.text]).toEqual([
      422,
      wire(`{
        "error": "dx_score_out_of_range", "msg": "musicList[0]: dxScore 3000 exceeds the chart maximum 2934",
        "returnCode": 5009, "code": 5009,
        "details": [{"index": 0, "musicId": 11466, "level": 3, "field": "dxScore", "max": 2934}]
      }`),
    ])
  })
})

it('POST /v1/music/delete answers its example', async () => {
  const { post } = await startScore()
  await post('/v1/music/upsert', record())
  const answer = await post('/v1/music/delete', '{"musicList": [{"musicId": 11466, "level": 3}]}')
  expect([answer.status, answer.text]).toEqual([
    200,
    wire(`{"returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {"deleted": 1, "musicList": [{"musicId": 11466, "level": 3}]}}`),
  ])
})

it('POST /v1/user/music answers its example', async () => {
  const { post } = await imported()
  expect((await post('/v1/user/music', '{}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userId": 10000001, "length": 2, "nextIndex": 0,
        "userMusicList": [
          {"userMusicDetailList": [
            {"musicId": 837, "level": 1, "playCount": 4, "achievement": 1010000, "comboStatus": 4, "syncStatus": 3,
             "deluxscoreMax": 744, "scoreRank": 13, "extNum1": 0}]},
          {"userMusicDetailList": [
            {"musicId": 11466, "level": 2, "playCount": 2, "achievement": 995000, "comboStatus": 1, "syncStatus": 0,
             "deluxscoreMax": 1800, "scoreRank": 11, "extNum1": 0},
            {"musicId": 11466, "level": 3, "playCount": 1, "achievement": 1005000, "comboStatus": 3, "syncStatus": 3,
             "deluxscoreMax": 2800, "scoreRank": 13, "extNum1": 0}]}
        ]
      }
    }`),
  )
})

it('POST /v1/charge, /v1/user/charge and /v1/ticket/clear answer their examples', async () => {
  const { post, clock } = await imported()
  for (const before of [2 * DAY, DAY]) {
    clock.now = NOON - before
    await post('/v1/charge', '{"chargeId": 2}')
  }
  clock.now = NOON
  expect((await post('/v1/charge', '{"chargeId": 2}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userCharge": {"chargeId": 2, "stock": 3, "purchaseDate": "2026-08-06T14:06:26.000Z",
                       "validDate": "2026-11-04T14:06:26.000Z", "extNum1": 0}
      }
    }`),
  )
  expect((await post('/v1/user/charge', '{}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userId": 10000001, "length": 1,
        "userChargeList": [{"chargeId": 2, "stock": 3, "purchaseDate": "2026-08-06T14:06:26.000Z",
                            "validDate": "2026-11-04T14:06:26.000Z", "extNum1": 0}],
        "userFreeChargeList": [{"chargeId": 11001, "stock": 1}]
      }
    }`),
  )
  const cleared = (kinds: number, stock: number) =>
    wire(`{"returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {"clearedKinds": ${kinds}, "clearedStock": ${stock}}}`)
  expect((await post('/v1/ticket/clear', '{}')).text).toBe(cleared(1, 3))
  expect((await post('/v1/ticket/clear', '{}')).text).toBe(cleared(0, 0))
})

it('GET /v1/charge/queue is the stub that clients know', async () => {
  const { post } = await startScore()
  const answer = await post('/v1/charge/queue', undefined, { method: 'GET' })
  expect([answer.status, answer.json]).toEqual([
    200,
    { code: 0, returnCode: 1, tasks: [], workers: 0, msg: expect.any(String) },
  ])
})

it('GET /v1/health answers pong, to anybody', async () => {
  const { url } = await startScore()
  expect(await (await fetch(`${url}/v1/health`)).text()).toBe(
    wire('{"returnCode": 0, "returnMessage": "pong", "code": 0, "msg": "pong"}'),
  )
})

it('POST /v1/user/data answers its example', async () => {
  const { post } = await imported()
  expect((await post('/v1/user/data', '{}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userId": 10000001, "banState": 0,
        "userData": {
          "userName": "ＴＥＳＴ", "playerRating": 14509, "highestRating": 14509, "playerOldRating": 10140,
          "playerNewRating": 4369, "iconId": 200201, "plateId": 200201, "titleId": 300022, "partnerId": 17,
          "frameId": 300101, "courseRank": 11, "classRank": 7, "totalAwake": 82, "charaSlot": [101, 102, 103, 104, 105],
          "playCount": 510, "currentPlayCount": 120, "point": 5000, "mapStock": 0, "isNetMember": 1,
          "lastRomVersion": "1.41.00", "lastDataVersion": "1.40.08", "lastRegionId": 1, "lastRegionName": "Beijing",
          "firstPlayDate": "2024-03-27T05:45:15.000Z", "lastLoginDate": "2026-08-06T13:00:00.000Z",
          "lastPlayDate": "2026-08-06T13:20:00.000Z"
        }
      }
    }`),
  )
})

it('POST /v1/user/item-list answers its example', async () => {
  const { post } = await imported()
  expect((await post('/v1/user/item-list', '{"itemKind": 3}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userId": 10000001, "length": 2, "nextIndex": 0,
        "userItemList": [{"itemKind": 3, "itemId": 1, "stock": 1, "isValid": true},
                         {"itemKind": 3, "itemId": 11, "stock": 1, "isValid": true}]
      }
    }`),
  )
  expect((await post('/v1/user/item-list', '{}')).json.businessData.length).toBe(3)
})

it('POST /v1/user/kaleidx-scope answers its example', async () => {
  const { post } = await imported()
  expect((await post('/v1/user/kaleidx-scope', '{}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {
        "userId": 10000001, "length": 2,
        "userKaleidxScopeList": [
          {"gateId": 1, "gateName": "Blue Gate", "state": "cleared", "isGateFound": true, "isKeyFound": true, "isClear": true,
           "totalRestLife": 12, "totalAchievement": 3003000, "totalDeluxscore": 7000, "bestAchievement": 3003000,
           "bestDeluxscore": 7000, "bestAchievementDate": "2026-07-01T10:00:00.000Z",
           "bestDeluxscoreDate": "2026-07-01T10:00:00.000Z", "playCount": 2, "clearDate": "2026-07-01T10:00:00.000Z",
           "lastPlayDate": "2026-07-03T10:00:00.000Z", "isInfoWatched": true},
          {"gateId": 2, "gateName": "White Gate", "state": "locked", "isGateFound": true, "isKeyFound": false, "isClear": false,
           "totalRestLife": 0, "totalAchievement": 0, "totalDeluxscore": 0, "bestAchievement": 0, "bestDeluxscore": 0,
           "bestAchievementDate": null, "bestDeluxscoreDate": null, "playCount": 0, "clearDate": null,
           "lastPlayDate": null, "isInfoWatched": false}
        ]
      }
    }`),
  )
})

it('POST /v1/user/region and /v1/user/preview have the documented members', async () => {
  const { post } = await imported()
  expect((await post('/v1/user/region', '{}')).text).toBe(
    wire(`{
      "returnCode": 1, "returnMessage": "success", "code": 0, "msg": "success",
      "businessData": {"userId": 10000001, "length": 1,
        "userRegionList": [{"regionId": 1, "playCount": 40, "created": "2024-03-27T05:45:15.000Z"}]}
    }`),
  )
  const preview = (await post('/v1/user/preview', '{}')).json.businessData
  expect(Object.keys(preview).join(' ')).toBe(
    'userId userName isLogin lastGameId lastDataVersion lastRomVersion lastLoginDate lastPlayDate playerRating ' +
      'nameplateId iconId trophyId partnerId frameId totalAwake isNetMember dailyBonusDate banState isInherit ' +
      'dispRate headPhoneVolume',
  )
  expect(preview).toMatchObject({ userId: 10000001, userName: 'ＴＥＳＴ', playerRating: 14509, trophyId: 300022 })
})

it('POST /v1/music/clear answers with the number of scores', async () => {
  const { post } = await imported()
  expect((await post('/v1/music/clear', '{"confirm": true}')).json.businessData).toEqual({ deleted: 3 })
  expect((await post('/v1/music/clear', '{"confirm": true}')).json.businessData).toEqual({ deleted: 0 })
})
