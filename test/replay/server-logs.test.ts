import { describe, expect, it } from 'vitest'
import { readCombinedLine, readEnvoyLine } from '../../src/replay/server-logs.ts'

const AT = Date.parse('2026-10-10T13:55:36Z')
const request = (more: object) => ({
  kind: 'request',
  entry: {
    at: AT,
    endedAt: AT,
    method: 'GET',
    target: { kind: 'path', text: '/a/b?c=1' },
    user: null,
    address: '192.0.2.7',
    plan: null,
    organisation: null,
    cost: null,
    charged: null,
    fate: 'passed',
    ...more,
  },
})

describe('a line in the form of combined', () => {
  const line = (user: string, text: string, status = 200) =>
    `192.0.2.7 - ${user} [10/Oct/2026:15:55:36 +0200] "${text}" ${status} 512 "-" "curl/8.5 (\\"x\\")"`

  it('a line in the form of combined is the request of the user that it names', () => {
    expect(readCombinedLine(line('alice', 'GET /a/b?c=1 HTTP/1.1'))).toEqual(request({ user: 'alice', address: null }))
    expect(readCombinedLine(line('-', 'GET /a/b?c=1 HTTP/1.1'))).toEqual(request({}))
  })

  it('a line in the form of combined may end behind the status and the bytes, as common does', () => {
    const common = '192.0.2.7 - - [10/Oct/2026:08:55:36 -0500] "GET /a/b?c=1 HTTP/2.0" 304 -'
    expect(readCombinedLine(common)).toEqual(request({}))
  })

  it('a line in the form of combined has users with blanks and brackets, and bytes that are escaped', () => {
    const user = (text: string) => {
      const reading = readCombinedLine(line(text, 'GET /a/b?c=1 HTTP/1.1'))
      return reading.kind === 'request' ? reading.entry.user : reading
    }
    expect(user('bob the [great] one')).toBe('bob the [great] one')
    expect(user('quo\\"te\\x41')).toBe('quo"teA')
  })

  it('a line in the form of combined was refused if it got 429', () => {
    expect(readCombinedLine(line('-', 'GET /a/b?c=1 HTTP/1.1', 429))).toEqual(request({ fate: 'refused' }))
  })

  it.each(['', '-', '\\x16\\x03\\x01\\x02', 'GET'])(
    'a line in the form of combined of nonsense never came to a quota: "%s"',
    (text) => {
      expect(readCombinedLine(line('-', text, 400))).toEqual({ kind: 'other', why: 'refused before the quota' })
    },
  )

  it.each([
    ['what is this', 'expected ADDRESS - USER [TIME] "REQUEST" STATUS'],
    [
      '192.0.2.7 - - [10/Okt/2026:15:55:36 +0200] "GET / HTTP/1.1" 200 1',
      '"10/Okt/2026:15:55:36 +0200" is no time like 10/Oct/2026:13:55:36 +0000',
    ],
    [`192.0.2.7 - ${'['.repeat(30_000)}`, 'expected ADDRESS - USER [TIME] "REQUEST" STATUS'],
  ])('a line in the form of combined that cannot be read says why', (text, problem) => {
    expect(readCombinedLine(text)).toEqual({ kind: 'unreadable', problem })
  })
})

describe('a line in the form of Envoy', () => {
  const line = (details: string, forwarded = '192.0.2.7, 10.0.0.1') =>
    `[2026-10-10T13:55:36.000Z] "GET /a/b?c=1 HTTP/1.1" 200 -${details} 0 512 31 30 "${forwarded}" "curl/8" "id" "host" "10.1.1.1:80"`

  it.each(['', ' via_upstream', ' via_upstream - "-"'])(
    'a line in the form of Envoy is read with the details%s',
    (details) => {
      expect(readEnvoyLine(line(details))).toEqual(request({ endedAt: AT + 31 }))
    },
  )

  it('a line in the form of Envoy has no address where nobody names one', () => {
    expect(readEnvoyLine(line('', '-'))).toEqual(request({ endedAt: AT + 31, address: null }))
  })

  it.each(['[x] "GET / HTTP/1.1" 200', `[2026-10-10T13:55:36.000Z] "GET / HTTP/1.1" 200 ${'"" '.repeat(20_000)}`])(
    'a line in the form of Envoy that cannot be read says why',
    (text) => expect(readEnvoyLine(text)).toMatchObject({ kind: 'unreadable' }),
  )
})
