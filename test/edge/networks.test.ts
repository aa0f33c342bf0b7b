import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OpenConnections } from '../../src/edge/open-connections.ts'
import { createShares, type ShareRules, THINGS } from '../../src/edge/shares.ts'
import { listening } from '../setup/listening.ts'

/** Connections of many /64s of one IPv6 /48. The loopback has one address of IPv6, so each socket is given another one. */

const server = createServer()
const clients: Socket[] = []
beforeAll(async () => {
  await listening(server)
})
afterAll(() => {
  for (const client of clients) client.destroy()
})

async function socketFrom(remoteAddress: string): Promise<Socket> {
  const { port } = server.address() as { port: number }
  clients.push(connect(port, '127.0.0.1').on('error', () => {}))
  const [socket] = (await once(server, 'connection')) as [Socket]
  return Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress })
}

const NONE = { total: null, address: null, network: null, user: null, strangers: null }

function opening(max: number, connections: Partial<ShareRules['connections']>) {
  const rules = {
    ...Object.fromEntries(THINGS.map((thing) => [thing, NONE])),
    connections: { ...NONE, ...connections },
  }
  const limits = () => ({ shares: rules as unknown as ShareRules, isProxy: () => false })
  const open = new OpenConnections({ shares: createShares(), observe: () => {}, max, limits })
  return async (address: string) => {
    const socket = await socketFrom(address)
    const connection = open.open(socket)
    return { socket, connection }
  }
}

const inOneNetwork = (i: number): string => `2001:db8:7:${i.toString(16)}::1`

it('above its larger share a /48 loses the connection of its own that is idle longest, of whichever /64', async () => {
  const open = opening(1000, { address: 20, network: 30 })
  const held = []
  for (let i = 0; i < 30; i++) held.push(await open(inOneNetwork(i)))
  const next = await open(inOneNetwork(99))
  expect(next.connection).not.toBeNull()
  expect(held.filter(({ socket }) => socket.destroyed)).toEqual([held[0]])
})

it('a /48 whose connections are all busy gets no more than its larger share', async () => {
  const open = opening(1000, { address: 20, network: 30 })
  for (let i = 0; i < 30; i++) Object.assign((await open(inOneNetwork(i))).connection ?? {}, { idleSince: null })
  const { connection, socket } = await open(inOneNetwork(99))
  expect([connection, socket.destroyed]).toEqual([null, true])
  expect((await open('2001:db8:8::1')).connection).not.toBeNull()
})

it('when all are taken, a /48 with one connection of each /64 gives way before an address with two', async () => {
  const open = opening(20, {})
  const office = [await open('192.0.2.1'), await open('192.0.2.1')]
  const many = []
  for (let i = 0; i < 16; i++) many.push(await open(inOneNetwork(i)))
  await open('192.0.2.9')
  expect(office.map(({ socket }) => socket.destroyed)).toEqual([false, false])
  expect(many.filter(({ socket }) => socket.destroyed)).toHaveLength(1)
})
