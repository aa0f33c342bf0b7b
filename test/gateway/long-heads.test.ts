import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { createFailedChecks } from '../../src/gateway/failed-checks.ts'
import { Stop } from '../../src/gateway/outcome.ts'
import { takeHead } from '../../src/gateway/steps.ts'

/** A long head takes long to look at: an address whose long heads are all refused has the next ones refused unseen. */

const AT_ONCE = 1000

function addresses(now: () => number) {
  const failedChecks = createFailedChecks(now)
  /** @returns whether the head was looked at; it was in vain */
  return (address: string | null, bytes: number, isAccepted = false): boolean => {
    const req = { url: `/${'a'.repeat(bytes - 1)}`, headers: {}, rawHeaders: [] } as unknown as IncomingMessage
    const context = { failedChecks }
    const head = takeHead({ context, req, client: { isLikelyKnown: () => isAccepted }, holder: { address } } as never)
    if (head instanceof Stop) {
      expect(head.ending).toMatchObject({
        error: 'too_many_in_flight',
        reason: 'long heads in vain',
        clientStatus: 429,
      })
      return false
    }
    head?.end(true)
    return true
  }
}

it('a thousand heads of 8 KiB may be in vain at once, and 250 a second from then on', () => {
  let now = 0
  const look = addresses(() => now)
  for (let i = 0; i < AT_ONCE; i++) expect(look('192.0.2.1', 8192)).toBe(true)
  expect(look('192.0.2.1', 8192)).toBe(false)
  now += 1000
  const again = Array.from({ length: 300 }, () => look('192.0.2.1', 8192))
  expect(again.filter(Boolean)).toHaveLength(250)
})

it('short heads, other addresses, connections with an accepted credential and trusted proxies are looked at all the same', () => {
  const look = addresses(() => 0)
  for (let i = 0; i <= AT_ONCE; i++) look('192.0.2.1', 8192)
  expect(look('192.0.2.1', 8192)).toBe(false)
  expect([look('192.0.2.1', 2048), look('192.0.2.2', 8192), look('192.0.2.1', 8192, true), look(null, 8192)]).toEqual([
    true,
    true,
    true,
    true,
  ])
})

it('a head that was not in vain costs its address nothing', () => {
  const failedChecks = createFailedChecks(() => 0)
  const url = `/${'a'.repeat(8000)}`
  const req = { url, headers: { cookie: 'a=1' }, rawHeaders: ['Cookie', 'a=1'] } as unknown as IncomingMessage
  for (let i = 0; i < 3 * AT_ONCE; i++) {
    const exchange = {
      context: { failedChecks },
      req,
      client: { isLikelyKnown: () => false },
      holder: { address: '192.0.2.1' },
    }
    const head = takeHead(exchange as never)
    if (head === null || head instanceof Stop) throw new Error(`head ${i} was refused`)
    head.end(false)
  }
})

it('a head of 200 fields is a long one, however short they are, and one of 60 is not', () => {
  const failedChecks = createFailedChecks(() => 0)
  const take = (fields: number) => {
    const rawHeaders = Array.from({ length: fields }, (_, i) => [`a${i}`, '']).flat()
    const req = { url: '/', headers: {}, rawHeaders } as unknown as IncomingMessage
    const context = { failedChecks }
    return takeHead({ context, req, client: { isLikelyKnown: () => false }, holder: { address: 'a' } } as never)
  }
  for (let i = 0; i < AT_ONCE; i++) {
    const head = take(200)
    if (head === null || head instanceof Stop) throw new Error(`head ${i} was not weighed`)
    head.end(true)
  }
  expect(take(200)).toBeInstanceOf(Stop)
  expect(take(60)).toBeNull()
})
