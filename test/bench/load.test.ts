import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { saturate } from '../../bench/load.ts'
import { LOADING_CORE, run } from '../../bench/processes.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { twoCores } from './two-cores.ts'

const folder = tempFolder()

interface Sent {
  /** Method, path, and bytes of the body. */
  readonly text: string
  readonly headers: readonly string[]
}

/** What one connection sends in a second. */
async function send(requests: string, body = 0): Promise<Sent[]> {
  const seen: Sent[] = []
  const server = createServer(async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += chunk.length
    seen.push({ text: `${request.method} ${request.url} ${bytes}`, headers: request.rawHeaders })
    response.end('ok')
  })
  await listening(server)
  const { port } = server.address() as AddressInfo
  const result = await saturate({ port, requests, connections: 1, body }, 1)
  expect(result).toMatchObject({ refused: 0, broken: 0 })
  return seen
}

function fileOf(lines: readonly string[]): string {
  const name = join(folder, `requests-${lines.length}`)
  writeFileSync(name, `${lines.join('\n')}\n`)
  return name
}

describe.skipIf(!twoCores)('the generator of a full load', () => {
  const one = { text: 'GET /one 0', headers: ['Host', 'bench.local', 'Authorization', 'Bearer alice'] }
  const two = { text: 'GET /two 0', headers: ['Host', 'bench.local', 'Authorization', 'Bearer bob'] }

  test('the generator of a full load sends the requests of its file in turn, the credential as the last header', async () => {
    const [first, ...others] = await send(fileOf(['GET /one alice', 'GET /two bob']))
    expect([first, ...others.slice(0, 2)]).toEqual(first?.text === one.text ? [one, two, one] : [two, one, two])
  })

  test('the generator of a full load gives each of them a body of the same size', async () => {
    expect((await send(fileOf(['POST /upload alice']), 1000))[0]).toEqual({
      text: 'POST /upload 1000',
      headers: ['Host', 'bench.local', 'Content-Length', '1000', 'Authorization', 'Bearer alice'],
    })
  })

  test('the generator of a full load goes on in the file where the load before it ended', async () => {
    const texts = Array.from({ length: 1000 }, (_, i) => `GET /${i} 0`)
    const file = fileOf(texts.map((_, i) => `GET /${i} user-${i}`))
    const at = async (which: number): Promise<number> => texts.indexOf((await send(file)).at(which)?.text ?? '')
    const [last, next] = [await at(-1), await at(0)]
    // The last one was under way when the time was up, so it may not have counted.
    expect([1, 2]).toContain((next - last + 1 + texts.length) % texts.length)
  })
})

describe.skipIf(!twoCores)('a generator that fails', () => {
  test('late: the error says after which time it was killed', async () => {
    await expect(run(['sleep', '600'], LOADING_CORE, 100)).rejects.toThrow(
      'sleep was killed, because it did not end within 0.1 s',
    )
  })

  test('a generator that fails by itself: the error has its exit code, or the signal that ended it', async () => {
    await expect(run(['sh', '-c', 'exit 3'], LOADING_CORE, 60_000)).rejects.toThrow('sh ended with 3')
    await expect(run(['sh', '-c', 'kill -SEGV $$'], LOADING_CORE, 60_000)).rejects.toThrow('sh ended with SIGSEGV')
  })
})
