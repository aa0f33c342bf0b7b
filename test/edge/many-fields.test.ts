import { expect, it } from 'vitest'
import { sent } from './bare-listener.ts'

const withFields = (count: number): string =>
  `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: count - 1 }, (_, i) => `a${i}: b\r\n`).join('')}\r\n`

it('a head of 1,000 fields is refused at the 202nd, before anything is made of it', async () => {
  const { text, denials } = await sent(withFields(1000))
  expect(text).toMatch(/^HTTP\/1\.1 431 .*"A request may have at most 200 header fields\."/s)
  expect(denials).toEqual(['fields'])
})

it('a head of 200 fields has all of them', async () => {
  const { text, requests } = await sent(withFields(200))
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
  expect(requests.map(({ req }) => Object.keys(req.headers).length)).toEqual([200])
})
