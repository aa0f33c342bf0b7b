import { describe, expect, it } from 'vitest'
import { BadAnswerError, connectionLost, forwardErrorOf, GivenUpError, reasonOf } from '../../src/forward/failure.ts'
import { assertNoSurprises } from './support.ts'

assertNoSurprises()

const coded = (code: string, message = 'text') => Object.assign(new Error(message), { code })

describe('a failure', () => {
  it.each(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'ETIMEDOUT'])(
    'without a connection (%s) means unreachable',
    (code) => expect(forwardErrorOf(coded(code), false)).toBe('upstream_unreachable'),
  )

  it.each(['ECONNRESET', 'UND_ERR_SOCKET', 'HPE_INVALID_CONSTANT', 'UND_ERR_HEADERS_OVERFLOW', 'ERR_ASSERTION'])(
    'with one (%s) means a bad answer',
    (code) => expect(forwardErrorOf(coded(code), true)).toBe('bad_upstream_answer'),
  )

  it.each(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])('by waiting (%s) means a timeout', (code) =>
    expect(forwardErrorOf(coded(code), true)).toBe('upstream_timeout'),
  )

  it('of our own making is no bad answer', () => {
    expect(forwardErrorOf(new GivenUpError('stop'), true)).toBe('upstream_unreachable')
    expect(forwardErrorOf(new BadAnswerError('status 999'), true)).toBe('bad_upstream_answer')
  })

  it('is a lost connection only where the peer closed it', () => {
    expect(connectionLost(coded('ECONNRESET'))).toBe(true)
    expect(connectionLost(coded('EPIPE'))).toBe(true)
    expect(connectionLost(coded('UND_ERR_SOCKET', 'other side closed'))).toBe(true)
    expect(connectionLost(coded('UND_ERR_SOCKET', 'bad response'))).toBe(false)
    expect(connectionLost(coded('UND_ERR_HEADERS_TIMEOUT'))).toBe(false)
  })

  it('is told with its code once', () => {
    expect(reasonOf(coded('ECONNREFUSED', 'connect ECONNREFUSED ::1:80'))).toBe('connect ECONNREFUSED ::1:80')
    expect(reasonOf(coded('UND_ERR_SOCKET', 'closed'))).toBe('UND_ERR_SOCKET: closed')
    const several = Object.assign(new AggregateError([new Error('a'), new Error('b')], ''), { code: 'ECONNREFUSED' })
    expect(reasonOf(several)).toBe('ECONNREFUSED: a; b')
  })
})
