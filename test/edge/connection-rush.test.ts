import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ConnectionRush } from '../../src/edge/connection-rush.ts'
import { onceFor } from '../../src/edge/open-connections.ts'

/** A connection in each of so many turns in a row. */
async function rushOf(turns: number): Promise<ConnectionRush> {
  const rush = new ConnectionRush()
  for (let i = 0; i < turns; i++) {
    rush.came()
    await nextTurn()
  }
  return rush
}

const grants = (rush: ConnectionRush, household: string | null) =>
  Array.from({ length: 20 }, () => rush.mayMakeRoom(household)).filter((may) => may).length

it('room is made for every new connection while each comes by itself', async () => {
  expect(grants(new ConnectionRush(), '192.0.2.1')).toBe(20)
  expect(grants(await rushOf(100), '192.0.2.1')).toBe(20)
})

it('room is made for eight connections of each household in a rush, and for all of a trusted proxy', async () => {
  const rush = await rushOf(200)
  expect(['192.0.2.1', '2001:db8:1::/48', '192.0.2.1', null].map((of) => grants(rush, of))).toEqual([8, 8, 0, 20])
})

it('a rush ends with the first turn that brings no connection', async () => {
  const rush = await rushOf(200)
  expect(grants(rush, '192.0.2.1')).toBe(8)
  await nextTurn()
  await nextTurn()
  expect(grants(rush, '192.0.2.1')).toBe(20)
})

it('a connection of a rush that meets two bounds uses up one of the eight places of its household', async () => {
  const rush = await rushOf(200)
  const granted = Array.from({ length: 20 }, () => {
    const mayMakeRoom = onceFor(() => rush.mayMakeRoom('192.0.2.1'))
    return mayMakeRoom() && mayMakeRoom()
  })
  expect(granted.filter((may) => may)).toHaveLength(8)
})
