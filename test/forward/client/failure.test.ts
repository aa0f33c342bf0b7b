import { expect, it } from 'vitest'
import {
  BadResponseError,
  ConnectionLostError,
  isConnectionLost,
  UpstreamTimeoutError,
} from '../../../src/forward/client/failure.ts'

const coded = (code: string) => Object.assign(new Error('text'), { code })

it('a connection is lost only if the peer closed it before any byte of a response', () => {
  expect(isConnectionLost(coded('ECONNRESET'))).toBe(true)
  expect(isConnectionLost(coded('EPIPE'))).toBe(true)
  expect(isConnectionLost(new ConnectionLostError('the upstream closed the connection'))).toBe(true)
  expect(isConnectionLost(new BadResponseError('the connection was closed within the answer'))).toBe(false)
  expect(isConnectionLost(new UpstreamTimeoutError('no answer in time'))).toBe(false)
})
