import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { outputOf } from './clients.ts'
import { goBefore, nginxBefore, type Peer, tollgateBefore } from './peers.ts'
import { startUpstream } from './upstreams.ts'

/**
 * Uploads that their upstream refuses before it has read them. A server that closes at once may reset the connection, which destroys its own
 * response on the way; what had come before that must reach the client. Tollgate loses at most as many as `ReverseProxy` of Go.
 */

const COUNT = 20
const REFUSAL = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nearly'

const folder = tempFolder()
const rows: string[] = []
const peers = new Map<string, Peer>()

/** Answers as soon as the head is there, and closes, whatever still comes. */
async function atOnce(): Promise<{ url: string; stop: () => unknown }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(REFUSAL, () => socket.destroy()))
  })
  await listening(server)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { url: `http://127.0.0.1:${address.port}`, stop: () => server.close() }
}

/** By curl, which reads while it writes, and does not ask first. @returns the status, 0 for no response */
async function upload(peer: Peer, file: string): Promise<number> {
  const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', 'Expect:', '--data-binary', `@${file}`]
  return Number((await outputOf('curl', [...args, `${peer.url}/early`])).out)
}

async function lostOf(peer: Peer, size: number): Promise<number> {
  const file = join(folder, `${size}`)
  writeFileSync(file, Buffer.alloc(size, 'x'))
  let lost = 0
  for (let i = 0; i < COUNT; i++) {
    const status = await upload(peer, file)
    if (status !== 401 && status !== 413) lost++
  }
  return lost
}

afterAll(() => {
  console.log([`Early responses that were lost, of ${COUNT} uploads`, ...rows].join('\n'))
})

describe.each([
  ['hypercorn', [1_000_000, 5_000_000]],
  ['Jetty', [1_000_000, 5_000_000]],
  ['gunicorn sync', [1_000_000, 5_000_000]],
  ['a server that answers and closes at once', [70_000]],
])('before %s', (name, sizes) => {
  beforeAll(async () => {
    const upstream = name.startsWith('a server') ? await atOnce() : await startUpstream(name)
    if (upstream === null) return
    atEnd(() => upstream.stop())
    const before = { url: upstream.url, tollgate: '', nginx: '' }
    peers.set('Tollgate', await tollgateBefore(before))
    peers.set('nginx', await nginxBefore(before))
    const go = await goBefore(before)
    if (go !== null) peers.set('Go', go)
  })
  afterAll(async () => {
    for (const { stop } of peers.values()) await stop()
    peers.clear()
  })

  it.each(sizes)('no more early responses to uploads of %i bytes are lost than through Go', async (size) => {
    const lost = new Map<string, number>()
    for (const [peer, at] of peers) lost.set(peer, await lostOf(at, size))
    rows.push(`${name}, ${size} bytes: ${[...lost].map(([peer, count]) => `${peer} ${count}`).join(', ')}`)
    if (lost.has('Go')) expect(lost.get('Tollgate')).toBeLessThanOrEqual(lost.get('Go') ?? 0)
  })
})
