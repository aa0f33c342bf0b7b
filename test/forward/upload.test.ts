import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { Upload } from '../../src/forward/upload.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('short pieces wait until the upstream has taken those before them, and then leave together', async () => {
  const written: string[] = []
  let take = (): void => {}
  const connection = {
    flushed: false,
    write: (piece: Buffer, onTaken: () => void) => {
      written.push(piece.toString())
      take = onTaken
      return true
    },
    end: () => {},
  }
  const req = new Readable({ read: () => {} })
  const upload = new Upload(req as IncomingMessage, connection, () => {})
  await turn()
  const digits = '0123456789'.repeat(200)
  for (const digit of digits) {
    req.push(digit)
    await turn()
  }
  expect(written).toEqual(['0'])
  take()
  expect(written).toEqual(['0', digits.slice(1)])
  req.push('a')
  await turn()
  expect(written.length).toBe(2)
  take()
  expect(written[2]).toBe('a')
  req.push('end')
  req.push(null)
  await turn()
  expect([written[3], upload.done]).toEqual(['end', true])
})

it('one that is whole already is not waited for: its client’s connection serves the next request', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  for (const complete of [false, true]) {
    const req = Object.assign(new Readable({ read: () => {} }), { complete }) as unknown as IncomingMessage
    const before = vi.getTimerCount()
    new Upload(req, { flushed: true, write: () => true, end: () => {} }, () => {}).stop()
    expect(vi.getTimerCount() - before).toBe(complete ? 0 : 1)
  }
  vi.useRealTimers()
})
