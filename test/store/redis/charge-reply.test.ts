import { describe, expect, it } from 'vitest'
import type { Batch } from '../../../src/quota/charge.ts'
import { encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { decodeReply } from '../../../src/store/redis/charge-reply.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'

const limits = { personal: [{ window: { name: '1h', seconds: 3600 }, limit: 10 }], organisation: null, global: null }
const charge = { user: 'alice', organisation: null, category: 'read', cost: 4, limits }
const batch: Batch = { instance: 'i', sequence: 1, refunds: [], charges: [charge] }
const keys = createKeys('tollgate')

describe('a reply of the script', () => {
  const now = 1_800_000_000_000
  const started = now - 1000
  function replyOf(verdict: string, used: number): Buffer {
    const reply = Buffer.alloc(30)
    reply.write('batch:')
    reply.writeUIntBE(1, 6, 6)
    reply.writeUIntBE(now, 12, 6)
    reply.write(verdict, 18)
    reply.writeUIntBE(started, 19, 6)
    reply.writeUIntBE(used, 25, 5)
    return reply
  }
  const decode = (reply: unknown) => decodeReply(reply, batch, encodeBatch(batch, keys))

  it('a reply of the script gives the decisions that follow from what was used before', () => {
    expect(decode(replyOf('1', 6))).toEqual([
      { accepted: true, at: now, personal: [{ startedAt: started, used: 10 }], organisation: null, global: null },
    ])
    expect(decode(replyOf('0', 7))).toEqual([
      { accepted: false, at: now, personal: [{ startedAt: started, used: 7 }], organisation: null, global: null },
    ])
  })

  it.each<[string, unknown]>([
    ['that accepts what does not fit', replyOf('1', 7)],
    ['that refuses what fits', replyOf('0', 6)],
    ['that is too short', replyOf('1', 6).subarray(0, -1)],
    ['that is too long', Buffer.concat([replyOf('1', 6), Buffer.alloc(1)])],
    ['that is empty', Buffer.alloc(0)],
    ['that is no bytes', ['1']],
  ])('%s is an error of unknown outcome', (_, reply) => {
    expect(() => decode(reply)).toThrow(expect.objectContaining({ name: 'StoreError', applied: 'unknown' }))
  })
})
