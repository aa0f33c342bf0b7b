import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { relayLines } from '../../src/workers/lines.ts'

function relayed(...chunks: Buffer[]): Promise<string[]> {
  const written: string[] = []
  const stream = new PassThrough()
  relayLines(stream, (lines) => written.push(lines))
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  return new Promise((resolve) => stream.on('close', () => resolve(written)))
}
const bytes = (text: string): Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.from([byte]))

it('whole lines go on together', async () => {
  expect(await relayed(Buffer.from('a\nb\nc\n'))).toEqual(['a\nb\nc\n'])
})

it('a line that comes in pieces waits for its end, also where a character is cut', async () => {
  expect(await relayed(Buffer.from('a\nb'), Buffer.from('c\n'))).toEqual(['a\n', 'bc\n'])
  expect(await relayed(...bytes('naïve 😀\nend\n'))).toEqual(['naïve 😀\n', 'end\n'])
})

it('half a line at the end is left out', async () => {
  expect(await relayed(Buffer.from('{"a":1}\n{"b":'))).toEqual(['{"a":1}\n'])
})
