import type { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { assertNoSurprises, gatewayTo, get, overEachWay, rawClient, until } from './support.ts'

assertNoSurprises()

/** Credentials of the gateway are in another field, so that Authorization is the upstream's. */
const credentials = {
  fields: ['x-api-key'],
  kept: null,
  cookies: [],
  parameters: [],
  subprotocols: [],
  trusted: [],
  encoding: 'none' as const,
}

overEachWay(({ rawUpstream }) => {
  /** Logs connections in, as Windows does: whoever comes later on one is its user. */
  async function start(challenge: string, more = '') {
    const users = new WeakMap<Socket, string>()
    const upstream = await rawUpstream((socket, head) => {
      const [, scheme, message] = /^authorization: (\w+) (\S+)/im.exec(head) ?? []
      if (scheme !== undefined && message === 'type3') users.set(socket, 'alice')
      const user = users.get(socket)
      if (user !== undefined) socket.write(`HTTP/1.1 200 OK\r\n${more}Content-Length: ${user.length}\r\n\r\n${user}`)
      else socket.write(`HTTP/1.1 401 x\r\nWWW-Authenticate: ${challenge}\r\nContent-Length: 0\r\n\r\n`)
    })
    return { upstream, gateway: await gatewayTo(upstream.url, { credentials }) }
  }

  it.each(['NTLM', 'Negotiate'])('a login of a connection by %s is nobody else’s', async (scheme) => {
    const { gateway } = await start(scheme)
    const alice = rawClient(gateway.port, get('/', `Authorization: ${scheme} type3\r\n`))
    await alice.until('alice')
    for (const more of ['', `Authorization: ${scheme} type1\r\n`]) {
      const bob = rawClient(gateway.port, get('/', more))
      await bob.until('HTTP/1.1 401')
      expect(bob.text()).not.toContain('alice')
    }
  })

  it.each(['NTLM', 'Basic realm="a", Negotiate', 'negotiate TlRMTVNTUAAC'])(
    'a connection on which the upstream asks for one by %s serves nobody else',
    async (challenge) => {
      const { upstream, gateway } = await start(challenge)
      for (const _ of [1, 2]) await rawClient(gateway.port, get('/')).until('HTTP/1.1 401')
      expect(upstream.sockets).toHaveLength(2)
    },
  )

  it('the login of each request costs no connection', async () => {
    const { upstream, gateway } = await start('Basic realm="Negotiate", Bearer')
    for (const more of ['', 'Authorization: Basic NTLM\r\n', 'Authorization: Bearer a\r\n']) {
      await rawClient(gateway.port, get('/', more)).until('HTTP/1.1 401')
    }
    expect(upstream.sockets).toHaveLength(1)
  })

  it('a connection of which the upstream says that its login stays serves nobody else', async () => {
    const { upstream, gateway } = await start('Basic', 'Persistent-Auth: true\r\n')
    await rawClient(gateway.port, get('/', 'Authorization: Custom type3\r\n')).until('alice')
    await rawClient(gateway.port, get('/')).until('HTTP/1.1 401')
    await until(() => upstream.sockets.length === 2)
  })
})
