import { METHODS } from 'node:http'
import { describe, expect, it } from 'vitest'
import { atEnd } from '../../../test/setup/at-end.ts'
import { responseRefusals } from '../../common/refusals.ts'
import { createHttp } from '../../common/server.ts'
import { saidTo } from '../responses.ts'

/** @returns its address */
async function start(): Promise<string> {
  const http = createHttp({ bodyLimit: 10, unreadable: (what) => ({ what }) })
  atEnd(() => http.close())
  http.app.get('/songs/:id', async () => 'a song')
  http.app.post('/songs', async () => 'made')
  const endpoints = [
    { method: 'GET', path: '/songs/:id' },
    { method: 'POST', path: '/songs' },
  ]
  const refusals = {
    notFound: 404,
    methodNotAllowed: 405,
    busy: 503,
    tooLarge: 413,
    badBody: () => 400,
    unreadable: () => 400,
    internal: 500,
  }
  responseRefusals<number>(http.app, {
    endpoints,
    refusals,
    send: (reply, code) => reply.code(code).send(),
    onError() {},
  })
  return (await http.listen({ host: '127.0.0.1', port: 0 })).url
}

/** The status and the Allow of the response to a request that is written by hand. */
async function ask(url: string, method: string, path: string, rest: string): Promise<[number, string | undefined]> {
  const response = await saidTo(url, `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${rest}`)
  return [Number(response.slice(9, 12)), /^allow: (.*)\r$/im.exec(response)?.[1]]
}

const BODIES = [
  ['nothing', '\r\n'],
  ['a body without a type', 'Content-Length: 2\r\n\r\n{}'],
  ['a body of another type', 'Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}'],
  ['a body that is no JSON', 'Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{'],
  ['a body that is too large', `Content-Type: application/json\r\nContent-Length: 20\r\n\r\n${'1'.repeat(20)}`],
] as const
/** CONNECT is for tunnels, and Node never shows it to a route. */
const OTHERS = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method))

describe.each(BODIES)('a request with %s', (_, rest) => {
  it('a request is 405 for each method that its path does not take, QUERY among them, and 404 if there is no such path', async () => {
    const url = await start()
    expect(OTHERS).toContain('QUERY')
    for (const method of OTHERS) {
      expect(await ask(url, method, '/songs/1', rest), method).toEqual([405, 'GET, HEAD'])
      expect(await ask(url, method, '/nothing', rest), method).toEqual([404, undefined])
    }
    expect(await ask(url, 'QUERY', '/songs', rest)).toEqual([405, 'POST'])
  })
})
