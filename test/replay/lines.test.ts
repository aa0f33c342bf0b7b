import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readLines } from '../../src/replay/lines.ts'
import { tempFolder } from '../setup/at-end.ts'

const folder = tempFolder()

async function linesOf(bytes: Buffer | string): Promise<[string, number][]> {
  const file = join(folder, 'file')
  writeFileSync(file, bytes)
  const lines: [string, number][] = []
  await readLines(file, (line, number) => lines.push([line, number]))
  return lines
}

test('lines have their numbers in the file, empty ones too', async () => {
  expect(await linesOf('a\n\nb\r\nc')).toEqual([
    ['a', 1],
    ['b', 3],
    ['c', 4],
  ])
  expect(await linesOf('')).toEqual([])
})

test('letters of several bytes survive the bounds of pieces', async () => {
  const line = 'é€ü'.repeat(50_000)
  const many = Array.from({ length: 40 }, (_, i) => `${i}${line.slice(0, 20_000 + i)}𝄞`)
  const read = await linesOf(many.join('\n'))
  expect(read.every(([text], i) => text === many[i])).toBe(true)
  expect(read).toHaveLength(40)
})

test('lines behind a very long one are read whole', async () => {
  const long = 'y'.repeat(65_537)
  const read = await linesOf(`ab\r\n\n${long}\n${'cd\n'.repeat(200_000)}ef`)
  expect(read).toHaveLength(200_003)
  expect([read[0], read[2], read.at(-1)]).toEqual([
    ['ab', 1],
    ['cd', 4],
    ['ef', 200_004],
  ])
  expect(read[1]?.[0]).toBe(long.slice(0, 65_536))
})

test('a file that gzip has packed is unpacked, several packed ones behind each other too', async () => {
  const packed = Buffer.concat([gzipSync('a\nb\n'), gzipSync('c\n')])
  expect((await linesOf(packed)).map(([text]) => text)).toEqual(['a', 'b', 'c'])
})

test('a packed file that is cut off is an error with its name', async () => {
  await expect(linesOf(gzipSync('abc\n'.repeat(1000)).subarray(0, 25))).rejects.toThrow(join(folder, 'file'))
})

test('a file that is not there is an error with its name', async () => {
  await expect(readLines(join(folder, 'none'), () => {})).rejects.toThrow(/none: ENOENT/)
})

test('only the beginning of a line without an end is kept', async () => {
  const [[line] = ['']] = await linesOf(Buffer.alloc(3_000_000, 'x'))
  expect(line.length).toBe(65_536)
})
