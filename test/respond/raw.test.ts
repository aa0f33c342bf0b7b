import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { reset } from '../../src/respond/raw.ts'
import { listening } from '../setup/listening.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

/** Both ends of a connection, and what they tell from then on. */
async function connected() {
  const server = net.createServer({ allowHalfOpen: true })
  const other = net.connect(await listening(server), '127.0.0.1').pause()
  const [ours] = (await once(server, 'connection')) as [Socket]
  cleanups.push(() => {
    other.destroy()
    server.close()
  })
  const told = { ours: [] as string[], other: [] as string[] }
  for (const [name, socket] of [
    ['ours', ours],
    ['other', other],
  ] as const) {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => told[name].push(code ?? ''))
    socket.on('close', () => told[name].push('close'))
  }
  return { ours, other, told }
}

describe('a connection that is reset', () => {
  it.each<[string, (ours: Socket) => unknown]>([
    ['while nothing is sent', () => {}],
    ['while more waits than the other end takes', (ours) => ours.write(Buffer.alloc(50_000_000))],
    ['while its end waits behind that', (ours) => ours.end(Buffer.alloc(50_000_000))],
  ])('%s is seen as that', async (_, prepare) => {
    const { ours, other, told } = await connected()
    prepare(ours)
    reset(ours)
    await expect.poll(() => told.ours).toEqual(['close'])
    other.resume()
    await expect.poll(() => told.other).toEqual(['ECONNRESET', 'close'])
  })

  it.each<[string, (ours: Socket) => unknown]>([
    ['in the turn in which it ends', (ours) => ours.end()],
    ['while its end is on its way', (ours) => new Promise((resolve) => ours.end().once('prefinish', resolve))],
    ['once its end is out', (ours) => new Promise((resolve) => ours.end(() => resolve(null)))],
    ['behind what it ends with', (ours) => ours.end('the last bytes')],
    ['while it closes by itself', (ours) => ours.destroySoon()],
    ['after it was closed', (ours) => ours.destroy()],
  ])('%s is closed without an error', async (_, prepare) => {
    const { ours, other, told } = await connected()
    await prepare(ours)
    reset(ours)
    await expect.poll(() => told.ours).toEqual(['close'])
    other.resume()
    await expect.poll(() => told.other).toContain('close')
  })
})
