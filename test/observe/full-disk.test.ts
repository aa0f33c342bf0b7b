import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openLineSink } from '../../src/observe/line-sink.ts'
import { tempFolder } from '../setup/at-end.ts'

/** How many bytes the disk still takes; it says ENOSPC to more, after it has taken what there is room for. */
const disk = vi.hoisted(() => ({ room: Infinity }))

vi.mock('node:fs', async (importActual) => {
  const actual = await importActual<typeof import('node:fs')>()
  const full = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  return {
    ...actual,
    write(
      fd: number,
      bytes: Buffer,
      offset: number,
      length: number,
      _: null,
      done: (error: Error | null, n: number) => void,
    ) {
      const taken = Math.min(length, disk.room)
      if (taken === 0) return setImmediate(done, full(), 0)
      disk.room -= taken
      return actual.write(fd, bytes, offset, taken, null, done)
    },
  }
})

let folder: string
let file: string
beforeEach(() => {
  folder = tempFolder()
  file = join(folder, 'log')
})
afterEach(() => {
  disk.room = Infinity
})

const written = () => readFileSync(file, 'utf8')

test('a log whose disk was full goes on, with every line whole, once there is room', async () => {
  const sink = openLineSink(file, { flushMs: 10 })
  disk.room = 8
  sink.write('one ✓\n')
  sink.write('two ✓\n')
  await expect.poll(() => disk.room).toBe(0)
  await sink.flush()
  sink.write('three\n')
  await sink.flush()
  expect(Buffer.byteLength(written())).toBe(8)
  disk.room = Infinity
  await expect.poll(written).toBe('one ✓\ntwo ✓\nthree\n')
  await sink.close()
})

test('lines that a full disk has not taken stay before the lines behind them', async () => {
  const sink = openLineSink(file, { chunk: 10_000_000, flushMs: 10 })
  const lines = ['a', 'b', 'c'].map((letter) => `${letter.repeat(50_000)}\n`)
  disk.room = 8
  for (const line of lines) sink.write(line)
  await expect.poll(() => disk.room).toBe(0)
  await sink.flush()
  disk.room = Infinity
  await sink.close()
  expect(written()).toBe(lines.join(''))
})

test('while the disk is full the memory is bounded, and the loss is reported', async () => {
  const sink = openLineSink(file, { chunk: 100, flushMs: 10, limit: 100 })
  disk.room = 0
  for (let i = 0; i < 1000; i++) sink.write('0123456789\n')
  await sink.flush()
  for (let i = 0; i < 1000; i++) sink.write('0123456789\n')
  disk.room = Infinity
  await sink.close()
  const lines = written().trimEnd().split('\n')
  expect(lines.length).toBeLessThan(30)
  const told = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  const lost = told.reduce((sum, { count }) => sum + count, 0)
  expect(lost + lines.length - told.length).toBe(2000)
})

test('a disk that stays full does not keep the log from closing, which says how many lines are lost', async () => {
  const lost: number[] = []
  const sink = openLineSink(file, { onLost: (lines) => lost.push(lines) })
  disk.room = 0
  sink.write('lost\nlost too\n')
  await sink.flush()
  expect(await sink.close()).toBe(2)
  expect(lost).toEqual([2])
  expect(written()).toBe('')
})
