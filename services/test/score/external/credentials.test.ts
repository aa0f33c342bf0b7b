import { expect, it } from 'vitest'
import { troubles } from '../../fakes/platform.ts'
import { expectRefused } from '../harness.ts'
import { startUpdates } from './running.ts'

const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl_-'
const OPAQUE = 'opaque-access-token'

it.each([
  [JWT, JWT],
  ['aaa.bbb.ccc', 'aaa.bbb.ccc'],
  [`Bearer ${OPAQUE}`, OPAQUE],
  [`bearer  ${OPAQUE}`, OPAQUE],
])(
  'an access token of OAuth goes to both platforms as Authorization: Bearer, and in no other header: %s',
  async (given, accessToken) => {
    const started = await startUpdates({ lxnsOptions: { accessToken }, fishOptions: { accessToken } })
    const { service, lxns, fish, updateLxns, updateFish } = started
    await service.importFixture({ users: { alice: { scores: [{ musicId: 837, level: 1, achievement: 1 }] } } })
    expect((await updateLxns({ key: given, mode: 'both' })).status).toBe(200)
    expect((await updateFish({ token: given, mode: 'both' })).status).toBe(200)
    for (const { headers } of [...lxns.requests, ...fish.requests]) {
      expect(headers.authorization).toBe(`Bearer ${accessToken}`)
      expect([headers['x-user-token'], headers['import-token']]).toEqual([undefined, undefined])
    }
    expect([lxns.requests.length, fish.requests.length]).toEqual([2, 2])
  },
)

it('an access token of OAuth that a platform refuses is 424, as a refused key is', async () => {
  const { updateLxns, updateFish } = await startUpdates()
  for (const response of [await updateLxns({ key: JWT }), await updateFish({ token: JWT })]) {
    expectRefused(response, 424, 'external_auth_failed')
  }
})

it('an access token of OAuth is not repeated from what a platform says', async () => {
  const { trouble, updateLxns, updateFish } = await startUpdates()
  trouble(troubles.response(403, { message: `no: ${OPAQUE}` }))
  const given = `Bearer ${OPAQUE}`
  for (const { text } of [await updateLxns({ key: given }), await updateFish({ token: given })]) {
    expect(text).toContain('no: ***')
    expect(text).not.toContain(OPAQUE)
  }
})

it.each(['a.b', 'a..b', 'a.b.c.d', 'Bearer', 'Bearer a b', `${'f0'.repeat(64)}`])(
  "a user's own key goes into the header of the platform as it is: %s",
  async (key) => {
    const { lxns, fish, updateLxns, updateFish } = await startUpdates({
      lxnsOptions: { key },
      fishOptions: { token: key },
    })
    expect((await updateLxns({ key })).status).toBe(200)
    expect((await updateFish({ token: key })).status).toBe(200)
    expect(lxns.requests[0]?.headers).toMatchObject({ 'x-user-token': key })
    expect(fish.requests[0]?.headers).toMatchObject({ 'import-token': key })
    for (const { headers } of [...lxns.requests, ...fish.requests]) expect(headers.authorization).toBeUndefined()
  },
)
