import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { checkEdge, checkUpgrade } from '../../src/edge/head-rules.ts'
import { nameRules } from '../../src/inputs/inputs.ts'

/** What Node's parser refuses by itself, so that no bytes on the wire lead here. All else is in edge-rules.test.ts. */

/** Of a configuration that decides by no field of its own. */
const NAMES = nameRules({}, [])

/** A parsed request, made by hand where Node's parser would not make it. */
function parsed(rawHeaders: readonly string[]): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), {
    method: 'POST',
    url: '/a',
    httpVersion: '1.1',
    rawHeaders: [...rawHeaders],
  })
}

const judge = (...headers: string[]) => checkEdge(parsed(['Host', 'a', ...headers]), NAMES)

test('lengths that no parser of ours lets pass are refused too', () => {
  for (const length of ['', '+5', '-5', '5, 5', '0x5', ' 5', '5 ', '1e1', '\u0665']) {
    expect(judge('Content-Length', length)).toMatchObject({ code: 'bad_request', reason: 'framing' })
  }
  expect(judge('Content-Length', '5', 'content-length', '5')).toMatchObject({ reason: 'duplicate_header' })
  expect(judge('Transfer-Encoding', 'chunked', 'content-length', '0')).toMatchObject({ reason: 'framing' })
  expect(judge('Content-Length', '999999999999999')).toBeNull()
})

test('codings that no parser of ours lets pass are refused too', () => {
  const twice = ['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked']
  expect(judge(...twice)).toMatchObject({ reason: 'duplicate_header' })
  expect(judge('Transfer-Encoding', 'chunked, identity')).toMatchObject({ reason: 'framing' })
})

test('a request of HTTP/1.1 without a Host is refused, also where Node does not ask for it', () => {
  expect(checkEdge(parsed([]), NAMES)).toMatchObject({ code: 'bad_request', msg: expect.stringMatching(/a Host/) })
})

test('an upgrade that is no handshake opens no tunnel where it comes as an upgrade', () => {
  const upgrade = parsed(['Host', 'a', 'Upgrade', 'h2c', 'Connection', 'Upgrade'])
  expect(checkUpgrade(upgrade, NAMES)).toMatchObject({ code: 'bad_request', reason: 'upgrade' })
})
