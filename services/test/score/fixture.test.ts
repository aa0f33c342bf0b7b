import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { closedAtEnd } from '../../../test/setup/at-end.ts'
import { fileOf, HOUR, NOON, startScore } from './harness.ts'

const BUNDLED = fileURLToPath(new URL('../../../config/score/fixture.json', import.meta.url))

type Score = Awaited<ReturnType<typeof startScore>>
const CLEARED = { gateId: 1, isGateFound: true, isKeyFound: true, isClear: true }

async function everything({ post }: Score, user: string) {
  const paths = ['data', 'music', 'charge', 'item-list', 'kaleidx-scope', 'region', 'preview']
  return Promise.all(paths.map(async (path) => (await post(`/v1/user/${path}`, {}, { user })).text))
}

it('importFixture imports the bundled file, and a second time changes nothing', async () => {
  const score = await startScore()
  expect(await score.service.importFixture(BUNDLED)).toEqual({ users: 2 })
  const before = [await everything(score, 'demo'), await everything(score, 'alice')]
  await score.service.importFixture(BUNDLED)
  expect([await everything(score, 'demo'), await everything(score, 'alice')]).toEqual(before)
  expect(before.join()).toContain('ＴＥＳＴ')
})

it.each([
  ['an unknown member', { profile: { nickname: 'x' } }],
  ['a chart that does not exist', { scores: [{ musicId: 1, level: 0, achievement: 1 }] }],
  ['too high an achievement', { scores: [{ musicId: 837, level: 1, achievement: 1_010_001 }] }],
  ['too high a DX score', { scores: [{ musicId: 837, level: 1, achievement: 1, deluxscoreMax: 745 }] }],
  ['a Gate that does not exist', { gates: [{ ...CLEARED, gateId: 11 }] }],
  ['a name of nine characters', { profile: { userName: '１２３４５６７８９' } }],
  ['a course rank above 23', { profile: { courseRank: 24 } }],
  ['a class rank above 25', { profile: { classRank: 26 } }],
  ['more points than the game has', { profile: { point: 100_000 } }],
  ['more maps than the game has', { profile: { mapStock: 1000 } }],
  ['more plays of this version than of all', { profile: { playCount: 5, currentPlayCount: 6 } }],
  ['plays of this version and none of all', { profile: { currentPlayCount: 1 } }],
  ['an item of an unknown kind', { items: [{ itemKind: 16, itemId: 1, stock: 1, isValid: true }] }],
])('importFixture refuses %s and imports nothing of the file', async (_what, bad) => {
  const score = await startScore()
  const fixture = { users: { alice: { freeTickets: [{ chargeId: 11001, stock: 1 }] }, bob: bad } }
  await expect(score.service.importFixture(fixture)).rejects.toThrow()
  const database = closedAtEnd(new DatabaseSync(score.database, { readOnly: true }))
  expect(database.prepare('SELECT user FROM players').all()).toEqual([])
  expect((await score.post('/v1/user/charge')).json.businessData.userFreeChargeList).toEqual([])
})

it.each([
  ['{"users":', 'cannot be read as JSON: '],
  [{ users: { bob: { profile: { nickname: 'x' } } } }, 'users.bob.profile: Unrecognized key: "nickname"'],
  [{ users: { bob: { gates: [{ ...CLEARED, gateId: 11 }] } } }, 'users.bob.gates[0].gateId: '],
  [{ users: { bob: { scores: [{ musicId: 1, level: 0, achievement: 1 }] } } }, 'user bob, musicId 1, level 0: no such'],
  [{ users: { bob: { profile: { currentPlayCount: 1 } } } }, 'user bob: currentPlayCount 1 exceeds playCount 0'],
])('importFixture names the file that it refuses and the place in the file: %j', async (content, problem) => {
  const { service } = await startScore()
  const file = fileOf(content)
  await expect(service.importFixture(file)).rejects.toThrow(`${file}: ${problem}`)
})

it('importFixture computes the rating from imported scores unless the file gives one', async () => {
  const score = await startScore()
  const scores = [{ musicId: 11466, level: 3, achievement: 1_005_000 }]
  const ratings = { playerRating: 9, highestRating: 10, playerOldRating: 4, playerNewRating: 5 }
  await score.service.importFixture({ users: { alice: { scores }, bob: { scores, ratings } } })
  const rating = async (user: string) => (await score.post('/v1/user/data', {}, { user })).json.businessData.userData
  expect(await rating('alice')).toMatchObject({ playerRating: 312, playerNewRating: 312, highestRating: 312 })
  expect(await rating('bob')).toMatchObject(ratings)
})

it('importFixture keeps the date of the first clear of a Gate', async () => {
  const score = await startScore()
  const clearDate = async () =>
    (await score.post('/v1/user/kaleidx-scope')).json.businessData.userKaleidxScopeList[0].clearDate
  const gate = (more: object) => score.service.importFixture({ users: { alice: { gates: [{ ...CLEARED, ...more }] } } })
  await gate({ isKeyFound: false })
  expect(await clearDate()).toBeNull()
  await gate({})
  expect(await clearDate()).toBe(new Date(NOON).toISOString())
  score.clock.now += HOUR
  await gate({ clearDate: '2030-01-01T00:00:00Z' })
  expect(await clearDate()).toBe(new Date(NOON).toISOString())
})

it('importFixture shows who is banned, and items by kind first', async () => {
  const score = await startScore()
  const item = (itemKind: number, itemId: number) => ({ itemKind, itemId, stock: 1, isValid: true })
  const alice = { profile: { banState: 2 }, items: [item(3, 1), item(2, 9), item(2, 7)] }
  await score.service.importFixture({ users: { alice } })
  expect((await score.post('/v1/user/data')).json.businessData.banState).toBe(2)
  expect((await score.post('/v1/user/preview')).json.businessData.banState).toBe(2)
  const { userItemList } = (await score.post('/v1/user/item-list')).json.businessData
  expect(userItemList).toEqual([item(2, 7), item(2, 9), item(3, 1)])
})

it('importFixture takes the free tickets of a kind away with a stock of 0', async () => {
  const score = await startScore()
  const owned = async (...freeTickets: object[]) => {
    await score.service.importFixture({ users: { alice: { freeTickets } } })
    return (await score.post('/v1/user/charge')).json.businessData.userFreeChargeList
  }
  const [two, three] = [
    { chargeId: 2, stock: 1 },
    { chargeId: 3, stock: 4 },
  ]
  expect(await owned(three, two)).toEqual([two, three])
  expect(await owned({ chargeId: 2, stock: 0 })).toEqual([three])
})

it('importFixture leaves what it does not mention', async () => {
  const score = await startScore()
  const importUser = (alice: object) => score.service.importFixture({ users: { alice } })
  await importUser({ profile: { userName: 'Alice', firstPlayDate: '2024-01-01T08:00:00+08:00' } })
  await importUser({ profile: { playCount: 3 }, items: [{ itemKind: 2, itemId: 7, stock: 0, isValid: false }] })
  expect((await score.post('/v1/user/data')).json.businessData.userData).toMatchObject({
    userName: 'Alice',
    playCount: 3,
    firstPlayDate: '2024-01-01T00:00:00.000Z',
  })
  expect((await score.post('/v1/user/item-list')).json.businessData.userItemList).toEqual([
    { itemKind: 2, itemId: 7, stock: 0, isValid: false },
  ])
})
