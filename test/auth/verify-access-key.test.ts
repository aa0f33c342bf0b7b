import { expect, it } from 'vitest'
import { callerOf } from '../../src/auth/verdict.ts'
import { verifyAccessKey } from '../../src/auth/verify-access-key.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { accessKeyStore, NOW } from './support.ts'

const { token, record } = mintToken({ user: 'alice', name: 'laptop', expiresAt: null }, NOW)
const judge = (changes: Partial<AccessKeyRecord>) =>
  verifyAccessKey(accessKeyStore({ ...record, ...changes }), token, NOW)

it('an access key is good for its owner, without end where it has none', async () => {
  expect(await judge({})).toEqual({
    caller: callerOf('alice', 'gateway_token'),
    until: Number.POSITIVE_INFINITY,
  })
  expect(await judge({ expiresAt: NOW + 1 })).toMatchObject({ until: NOW + 1 })
})

it('an access key that the store does not know is refused', async () => {
  expect(await verifyAccessKey(accessKeyStore(), token, NOW)).toMatchObject({
    code: 'unauthorized',
    reason: 'unknown access key',
  })
})

it('an access key that is revoked or over is refused', async () => {
  expect(await judge({ revokedAt: NOW - 1 })).toMatchObject({ code: 'unauthorized', reason: 'revoked access key' })
  expect(await judge({ revokedAt: NOW + 1000 })).toMatchObject({
    code: 'unauthorized',
    reason: 'revoked access key',
  })
  expect(await judge({ expiresAt: NOW })).toMatchObject({ code: 'unauthorized', reason: 'expired access key' })
})

it('an access key of an owner that could not be a user is refused', async () => {
  expect(await judge({ user: 'a'.repeat(257) })).toMatchObject({ code: 'unauthorized' })
})

it('an access key is not called bad when the store fails', async () => {
  const find = async () => {
    throw new StoreError('Redis said canary', 'timeout', 'no')
  }
  const response = await verifyAccessKey({ find }, token, NOW)
  expect(response).toMatchObject({
    code: 'store_unavailable',
    headers: { 'Retry-After': '1' },
    reason: 'access keys: timeout',
  })
  expect(JSON.stringify(response)).not.toContain('canary')
})

it('an access key does not hide a fault that is not the store’s', async () => {
  const find = async () => {
    throw new TypeError('a bug')
  }
  await expect(verifyAccessKey({ find }, token, NOW)).rejects.toThrow('a bug')
})
