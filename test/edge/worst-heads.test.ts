import type { IncomingMessage } from 'node:http'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { afterAll, describe, expect, it } from 'vitest'
import { readBearer } from '../../src/auth/bearer-credential.ts'
import { decodeBase64url, outlineOf } from '../../src/auth/jwt-encoding.ts'
import { checkEdge, isWebSocketHandshake, whyNotUpgraded } from '../../src/edge/head-rules.ts'
import { addressOf } from '../../src/gateway/client-address.ts'
import { nameRules } from '../../src/inputs/inputs.ts'
import type { AskedPrice } from '../../src/inputs/price.ts'
import { readCookie, withoutCookies } from '../../src/lib/cookies.ts'
import { addressesIn } from '../../src/lib/forwarded.ts'
import { readParameter, withoutParameters } from '../../src/lib/query-parameters.ts'
import { acceptsProblem } from '../../src/respond/accepts-problem.ts'
import { queryFault } from '../../src/routing/price.ts'
import { canonicalTarget } from '../../src/routing/target.ts'
import { priceIn } from '../routing/asked.ts'

/**
 * What a stranger may send before anybody knows who it is, read by each parser that looks at it: the bytes that it allocates stand for its
 * steps, since they hardly vary from run to run.
 */

const EXACT = { encodedSlash: false, emptySegment: false, semicolon: false }
const LAX = { encodedSlash: true, emptySegment: true, semicolon: true }
const PRICE = priceIn('{ body: chargeId, values: { 2: 10 } }')
const NAMES = nameRules({ unverifiedKeys: { kind: 'header', name: 'X-API-Key', scheme: null } }, ['underscore_names'])
const NO_SESSION: ReadonlySet<string> = new Set()
const isProxy = (address: string) => address === '10.0.0.1'
const BEHIND = { address: '10.0.0.1', peer: '10.0.0.1' }
const headed = (...rawHeaders: string[]) =>
  ({
    method: 'GET',
    url: '/',
    httpVersion: '1.1',
    rawHeaders,
    headers: { [(rawHeaders[2] ?? '').toLowerCase()]: rawHeaders[3] },
  }) as unknown as IncomingMessage

type Parser = readonly [name: string, read: (text: string) => unknown, ...units: string[]]

const PARSERS: readonly Parser[] = [
  [
    'the path',
    (text) => canonicalTarget(`/${text}`, EXACT),
    'a',
    '%C3%A9',
    '%3A',
    '%c3%a9',
    '%41',
    '/a',
    '[',
    '/.',
    '%2e',
    'a;',
    '%25',
    '%',
  ],
  ['the path, where all may stand in it', (text) => canonicalTarget(`/${text}`, LAX), '%2F', '//', ';', '%252F', '%5C'],
  ['the query', (text) => canonicalTarget(`/?${text}`, EXACT), 'a=b&', '%C3%A9', '&', '#'],
  [
    'the query beside a priced body',
    (text) => queryFault(PRICE as AskedPrice, `?${text}`),
    '&c%CC%80h%CC%810',
    '&',
    '%CC%80',
    '&chargeI',
    'a',
    '[',
    '&charge.',
  ],
  [
    'a credential in the query',
    (text) => readParameter(`?${text}`, 'api_key', 'api_key'),
    '&',
    ';',
    '%61pi_key%CC%80&',
    'api_ke&',
    '+',
  ],
  ['the rest of a query', (text) => withoutParameters(`?a&${text}`, ['api_key']), '&', ';', 'api_ke&', 'api%5Fkey;'],
  [
    'Cookie',
    (text) => readCookie(text, 'sid', 'sid'),
    ';',
    'sid',
    'sid=;',
    'a=b; ',
    '%73',
    ' ',
    '"',
    's[=1;',
    'a=b ',
    '="',
    '="a;',
    ' =',
  ],
  [
    'the rest of Cookie',
    (text) => withoutCookies(text, NO_SESSION, ['sid']),
    ';',
    'a=b; ',
    'si=1;',
    ' ',
    'sid=1;',
    'a=b ',
  ],
  [
    'X-Forwarded-For',
    (text) => addressOf(BEHIND, { 'x-forwarded-for': text }, isProxy),
    ',',
    '1.2.3.4, ',
    '[',
    ' ',
    '10.0.0.1,x,',
  ],
  ['Forwarded', (text) => addressOf(BEHIND, { forwarded: text }, isProxy), ';', ',', 'for=', 'for=";', '"', ' '],
  ['Forwarded, for the upstream', addressesIn, ';', ',', 'for=,', 'for=a;for=b,', 'for="', ' '],
  ['Accept', acceptsProblem, ',', ';', 'application/problem+json;', ' ', ', ', ';q='],
  ['Connection', (text) => checkEdge(headed('Host', 'a', 'Connection', text), NAMES), ',', 'a,', ' ', 'close,'],
  ['Upgrade', (text) => whyNotUpgraded(headed('Host', 'a', 'Upgrade', text)), ',', 'a,', 'websocket,'],
  [
    'Sec-WebSocket-Version',
    (text) => isWebSocketHandshake(headed('Upgrade', 'websocket', 'Sec-WebSocket-Version', text)),
    ',',
    'a,',
  ],
  ['the name of a field', (text) => checkEdge(headed('Host', 'a', text, 'b'), NAMES), 'a', '_', '-'],
  ['Authorization', (text) => readBearer(text, 8192), 'a', ' ', 'Bearer ', 'bearer', '=', '.'],
  [
    'a part of a JWT',
    (text) => outlineOf(decodeBase64url(text) ?? Buffer.from(text)),
    'W1tb',
    'e30',
    'IiIi',
    '{"a":',
    '[1,',
  ],
]

/**
 * What 8 KiB may allocate, in bytes: some copies of it, and a few objects for each character. A compiled parser makes no such objects, but when
 * it is compiled differs from machine to machine, so here none is: what is counted is the worst that a request can meet.
 */
const MOST = 1536 * 1024

setFlagsFromString('--no-opt')
setFlagsFromString('--no-maglev')
// Other files run in this process afterwards, and would take seven times as long.
afterAll(() => {
  setFlagsFromString('--opt')
  setFlagsFromString('--maglev')
})

function allocatedBy(read: (text: string) => unknown, text: string): number {
  const runs = 25
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 2; round++) {
    const before = getHeapStatistics().total_allocated_bytes
    for (let i = 0; i < runs; i++) read(text)
    least = Math.min(least, (getHeapStatistics().total_allocated_bytes - before) / runs)
  }
  return least
}

const CASES = PARSERS.map(([name, read, ...units]) => ({ name, read, units }))

describe.each(CASES)('$name', ({ read, units }) => {
  it.each(units)('a head of 8 KiB of %j takes a bounded number of bytes, and half of it half of them', (unit) => {
    const [half, whole] = [4096, 8192].map((length) => allocatedBy(read, unit.repeat(Math.floor(length / unit.length))))
    expect(whole).toBeLessThan(MOST)
    expect(whole).toBeLessThan(4 * (half ?? 0) + 64 * 1024)
  })
})

/** What says who is asked, not by whom, and has no use for more than a few words. */
const LISTS: readonly (readonly [name: string, read: (text: string) => unknown])[] = [
  ['Upgrade', (text) => whyNotUpgraded(headed('Host', 'a', 'Upgrade', text))],
  [
    'Sec-WebSocket-Version',
    (text) => {
      const headers = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': text }
      return isWebSocketHandshake({ method: 'GET', httpVersion: '1.1', headers } as unknown as IncomingMessage)
    },
  ],
  [
    'many Connection',
    (text) => {
      const each = text.match(/.{200}/gs) ?? []
      const raw = each.flatMap((part) => ['Connection', part])
      const req = { ...headed('Host', 'a', ...raw), headers: { connection: each.join(', ') } }
      return checkEdge(req as unknown as IncomingMessage, NAMES)
    },
  ],
]

it.each(LISTS)('8 KiB of a list in %s are not taken apart', (_, read) => {
  const [list, word] = ['a,'.repeat(4096), 'a'.repeat(8192)]
  expect(allocatedBy(read, list)).toBeLessThan(allocatedBy(read, word) + 16 * 1024)
})
