import { expect, it } from 'vitest'
import { BadResponseError, GivenUpError, UpstreamTimeoutError } from '../../src/forward/client/failure.ts'
import { forwardErrorOf, reasonOf } from '../../src/forward/failure.ts'

const coded = (code: string, message = 'text') => Object.assign(new Error(message), { code })

it.each(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'ETIMEDOUT'])(
  'a failure without a connection (%s) means unreachable',
  (code) => expect(forwardErrorOf(coded(code), false)).toBe('upstream_unreachable'),
)

it.each(['ECONNRESET', 'CONNECTION_LOST', 'BAD_ANSWER', 'ERR_ASSERTION'])(
  'a failure with one (%s) means a bad answer',
  (code) => expect(forwardErrorOf(coded(code), true)).toBe('bad_upstream_answer'),
)

it('a failure by waiting means a timeout', () => {
  expect(forwardErrorOf(new UpstreamTimeoutError('no answer in time'), true)).toBe('upstream_timeout')
  expect(forwardErrorOf(new UpstreamTimeoutError('no connection became free in time'), false)).toBe('upstream_timeout')
})

it('a failure of our own making is no bad answer', () => {
  expect(forwardErrorOf(new GivenUpError('stop'), true)).toBe('upstream_unreachable')
  expect(forwardErrorOf(new BadResponseError('status 999'), true)).toBe('bad_upstream_answer')
})

it('a failure is reported with its code once', () => {
  expect(reasonOf(coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:80'))).toBe('connect ECONNREFUSED ::1:80')
  expect(reasonOf(coded('EPIPE', 'closed'))).toBe('EPIPE: closed')
  const several = Object.assign(new AggregateError([new Error('a'), new Error('b')], ''), { code: 'ECONNREFUSED' })
  expect(reasonOf(several)).toBe('ECONNREFUSED: a; b')
})
