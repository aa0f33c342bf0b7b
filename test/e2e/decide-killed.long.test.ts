import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { beforeEach, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'
import { yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

/** Gateways that are killed between a decision and its settlement. */

const TOKEN = 'token-of-the-services-0123456789abcdef'
let folder: string
let gateway: GatewayProcess
beforeEach(() => {
  folder = tempFolder()
})

/** @param workers processes that share the socket */
async function start(workers: number): Promise<string> {
  const port = await freePort()
  const rules = `
decisions: { listen: "unix:${folder}/decide.sock", token: ${TOKEN} }
workers: ${workers}
quota: { baselines: { personal: { read: { 1d: 1000 } } } }
routes: [{ match: POST /answers, category: read, cost: 20 }, { match: GET /open, public: true }]
`
  const text = yaml('http://127.0.0.1:9', rules, `sqlite:${folder}/tollgate.db`)
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(
    file,
    text.replace('listen: 127.0.0.1:0', `listen: 127.0.0.1:${port}`).replace('level: fatal', 'level: error'),
  )
  const url = `http://127.0.0.1:${port}`
  gateway = await spawnGateway(file, url)
  return url
}

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'x-tollgate-token': TOKEN, 'content-type': 'application/json' }
  const request = http.request({ socketPath: `${folder}/decide.sock`, path, method: 'POST', headers, agent: false })
  request.end(JSON.stringify(body))
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return (await json(response)) as Record<string, unknown>
}

async function used(url: string): Promise<number | undefined> {
  const response = await fetch(`${url}/me/quota`, { headers: bearer('ann') })
  const { windows } = (await response.json()) as { windows: Record<string, { used: number }[]> }
  return windows.read?.[0]?.used
}

it.each([1, 2])(
  'a decision outlives a gateway of %i processes that is killed, and so does its socket',
  async (workers) => {
    await start(workers)
    const question = { method: 'POST', path: '/answers', user: 'ann' }
    const { id, allowed } = await post('/decide', question)
    const other = await post('/decide', { ...question, key: 'k' })
    expect([allowed, other.allowed]).toEqual([true, true])
    await gateway.end('SIGKILL')
    const url = await start(workers)
    expect(await used(url)).toBe(40)
    for (const changed of [-13, 0, 0]) {
      expect(await post('/settle', { id, charges: { read: 7 } })).toEqual({ id, changed: { read: changed } })
    }
    for (const changed of [-20, 0])
      expect(await post('/refund', { id: other.id })).toMatchObject({ changed: { read: changed } })
    await expect.poll(() => used(url)).toBe(7)
  },
)
