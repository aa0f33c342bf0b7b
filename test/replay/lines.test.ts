import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { readLines } from '../../src/replay/lines.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-lines-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function linesOf(bytes: Buffer | string): Promise<[string, number][]> {
  const file = join(folder, 'file')
  writeFileSync(file, bytes)
  const lines: [string, number][] = []
  await readLines(file, { bytes: () => false, text: (line, number) => lines.push([line, number]) })
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

test('whoever takes lines by their bytes gets them whole, but for the very long', async () => {
  const long = 'y'.repeat(65_537)
  const file = join(folder, 'file')
  writeFileSync(file, `ab\r\n\n${long}\n${'cd\n'.repeat(200_000)}ef`)
  const taken: [string, number][] = []
  const left: number[] = []
  await readLines(file, {
    bytes(piece, from, to, number) {
      taken.push([piece.toString('utf8', from, to), number])
      return true
    },
    text: (_line, number) => left.push(number),
  })
  expect(left).toEqual([3])
  expect(taken.length).toBe(200_002)
  expect([taken[0], taken[1], taken.at(-1)]).toEqual([
    ['ab', 1],
    ['cd', 4],
    ['ef', 200_004],
  ])
  expect(taken.slice(1, -1).every(([line]) => line === 'cd')).toBe(true)
})

test('a file that gzip has packed is unpacked, several packed ones behind each other too', async () => {
  const packed = Buffer.concat([gzipSync('a\nb\n'), gzipSync('c\n')])
  expect((await linesOf(packed)).map(([text]) => text)).toEqual(['a', 'b', 'c'])
})

test('a packed file that is cut off is an error with its name', async () => {
  await expect(linesOf(gzipSync('abc\n'.repeat(1000)).subarray(0, 25))).rejects.toThrow(join(folder, 'file'))
})

test('a file that is not there is an error with its name', async () => {
  await expect(readLines(join(folder, 'none'), { bytes: () => false, text: () => {} })).rejects.toThrow(/none: ENOENT/)
})

test('of a line without an end only the beginning is kept', async () => {
  const [[line] = ['']] = await linesOf(Buffer.alloc(3_000_000, 'x'))
  expect(line.length).toBe(65_536)
})
