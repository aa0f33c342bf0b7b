import { expect, it } from 'vitest'
import { upstreamNames } from '../../src/forward/upstream-names.ts'
import { assertNoSurprises, exchangeRaw, gatewayTo, OK, overEachTransport } from './support.ts'

assertNoSurprises()

const MOVE = (destination: string, host = 'gateway.test'): string =>
  `MOVE /dav/a HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nDestination: ${destination}\r\n\r\n`

overEachTransport(({ rawUpstream, scheme }) => {
  it.each([
    ['https://gateway.test/dav/b', '/dav/b'],
    ['http://gateway.test:80/dav/b', '/dav/b'],
    ['http://GATEWAY.test/dav/b%20c?d', '/dav/b%20c?d'],
  ])('Destination: %s of a move names the upstream as its Host does', async (destination, path) => {
    let seen = ''
    const upstream = await rawUpstream((socket, head) => {
      seen = /^destination: (.*)$/im.exec(head)?.[1]?.trim() ?? ''
      socket.write(OK)
    })
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, MOVE(destination))
    expect(seen).toBe(`${scheme}://gateway.test${path}`)
  })

  it.each([
    'http://other.test/dav/b',
    'http://gateway.test:8080/dav/b',
    '/dav/b',
    'nonsense',
    'http://a@gateway.test/b',
  ])('Destination: %s, which is not the gateway, is left to the upstream', async (destination) => {
    const upstream = await rawUpstream((socket) => socket.write(OK))
    const gateway = await gatewayTo(upstream.url)
    await exchangeRaw(gateway.port, MOVE(destination))
    expect(upstream.received[0]).toContain(`Destination: ${destination}\r\n`)
  })
})

it('a Destination is below the path, and at the host, of an upstream that has them', () => {
  const origin = new URL('http://inner:9000')
  const { destinationFor } = upstreamNames({ origin, base: '/base', host: 'inner:9000' })
  const asked = { scheme: 'https', authority: 'gw.test:8443', host: 'gw.test:8443', prefix: '' }
  expect(destinationFor('https://gw.test:8443/dav/b', asked)).toBe('http://inner:9000/base/dav/b')
  expect(destinationFor('/dav/b', asked)).toBe('/base/dav/b')
})
